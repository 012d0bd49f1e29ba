"""A release: how it is built, described, read, compared and verified.

``parquet``      writes entries, audit tables and the pool as Parquet files that suit the Hub
``content``      logical content hashes that do not depend on library versions
``layout``       the names of a release's files
``composition``  sizes, classes, relevant per query and imbalance, next to the printed row
``card``         the dataset card
``build``        builds a release folder from finished lanes
``verify``       checks checksums, schemas and invariants
"""
