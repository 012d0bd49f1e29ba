"""What is written into a results repository of one's own: two scripts that need nothing of this project."""
