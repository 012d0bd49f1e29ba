"""Compiled or batched arithmetic on plain arrays. Knows no release, no method and no labels."""
