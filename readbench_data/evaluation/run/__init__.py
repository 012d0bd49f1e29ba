"""Runs every method on every dataset at every level and stores the results of each unit."""
