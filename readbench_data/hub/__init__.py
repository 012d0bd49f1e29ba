"""Publishing and fetching releases: the Hugging Face Hub, folders and S3-compatible stores, all with one versioning.

A version is visible whole or not at all, and once there it never changes.
"""
