"""Tests of sources from outside READ-Bench."""
