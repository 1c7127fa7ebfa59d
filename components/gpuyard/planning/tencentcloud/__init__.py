"""What only Tencent Cloud decides: pools, file system, snapshots, keys."""
