"""What the programs of penstock share, commands or not: their event loop, and the codes that they end with."""
