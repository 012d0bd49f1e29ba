"""What could answer a query without similarity: leaks, near duplicates and shortcuts."""
