"""What may be claimed from a table of scores: tests over datasets, intervals, and their figure."""
