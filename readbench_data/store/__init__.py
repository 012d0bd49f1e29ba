"""Where results are stored: a store in which nothing half-made is visible, and the code versions in its keys."""
