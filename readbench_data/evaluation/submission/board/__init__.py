"""The two scripts that are copied into an exported results repository; they do not import this project."""
