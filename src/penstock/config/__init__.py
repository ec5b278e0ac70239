"""Settings from penstock.toml, the environment and flags, in rising precedence, each with where it came from."""
