"""Where results are stored: a store without visible partial results, and the code versions in its keys."""
