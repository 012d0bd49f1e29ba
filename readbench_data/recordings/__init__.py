"""One continuous series of a source: as read, as curated, and on disk."""
