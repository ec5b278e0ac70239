"""What the SQL engines share: judgements and operations, no engine."""
