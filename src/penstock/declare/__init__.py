"""From a function or a class to a declared job type."""
