"""Speed and memory of the parts people wait for. Run one: ``python -m benchmarks indexing``; all: ``make bench``."""
