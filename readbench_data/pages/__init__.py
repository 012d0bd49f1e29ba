"""One way to make a page (``page``) and one way to draw (``drawing``), shared by every package that reports."""
