"""Small stand-ins of the original files, written in the true format with the true defects.

One module a dataset, each with ``write(folder, seed)``: the same seed gives the same bytes. The faults have a
physical shape, so that a distance between windows says something about them and not everything. Numbers from
miniatures are not READ-Bench results and are marked so wherever a person sees them.
"""
