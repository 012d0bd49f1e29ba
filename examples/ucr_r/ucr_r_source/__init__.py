"""UCR-R as a source of readbench-data."""
