"""Information that answers a query without similarity search: leaks, near duplicates and shortcuts."""
