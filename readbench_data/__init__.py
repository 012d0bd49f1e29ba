"""What a recording, a window and an entry are, and everything that is done with them.

This room knows no dataset by name and no orchestrator. Modules, in the order data meets them:

``source``      how a dataset is declared (download, format, labels, split unit, window choice)
``files``       the original files of a source: where they lie, what they should hash to
``recording``   one continuous multichannel series and the evidence for its labels
``curation``    fill, sentinels, dead channels, dropped rows
``windowing``   where windows start and stop
``labeling``    evidence to votes, votes to a class, by a named rule
``index``       the window index: one row a window with the proof of its label
``split``       which units are queries and which are corpus
``sampling``    which windows are drawn at which pollution level
``entry``       a window as it is published
``release``     Parquet, manifest, composition, card, verification
``evaluation``  methods, metrics, statistics, leaderboard
"""
