"""HTML pages (``page``) and drawings (``drawing``) for all packages that write reports."""
