"""A release: what is written, what it says of itself, and how it is verified.

``parquet``      entries, audit table and pool as Parquet the Hub likes
``content``      logical content hashes that do not depend on library versions
``layout``       the names of a release's files
``composition``  sizes, classes, relevant per query, imbalance, beside the printed row
``card``         the dataset card
``build``        from finished lanes to a release folder
``verify``       checksums, schema and invariants
"""
