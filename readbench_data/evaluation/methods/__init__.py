"""The scorers, one family a module."""
