"""Where windows are cut, what votes in them, and the index row with the evidence for each label."""
