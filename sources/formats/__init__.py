"""Readers of file formats that are too large for a source's own module."""
