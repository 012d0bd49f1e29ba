"""What a dataset declares, its settings, its original files, and the documentation made from the declaration."""
