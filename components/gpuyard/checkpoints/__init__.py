"""Checkpoints in a folder, S3, OSS or COS: which is the newest complete one, is it whole, and what can go."""
