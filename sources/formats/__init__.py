"""Readers of file formats that are too big to stand in a source's own module."""
