"""Tests of examples/: real files of others where they are (READBENCH_OWNDATA), stand-ins where not."""
