"""The scorers, one module per family."""
