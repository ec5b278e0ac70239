"""Where jobs are kept: one contract, several engines. Upper layers import `contract` only."""
