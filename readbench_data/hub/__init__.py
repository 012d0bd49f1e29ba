"""Publishes and pulls releases: on the Hugging Face Hub, in folders and in S3-compatible stores, versioned alike.

A version is either complete or invisible, and a published version never changes.
"""
