"""Which windows are queries and which are corpus: split by unit, then select by seed."""
