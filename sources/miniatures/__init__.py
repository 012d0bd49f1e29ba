"""Small stand-ins of the original files, in the original format, with the defects of the original files.

One module per dataset, each with ``write(folder, seed)``: the same seed gives the same bytes. The faults have a
physical shape, so distances between windows find some of them, but not all. Numbers from miniatures are not READ-Bench
results and are marked as such wherever they are displayed.
"""
