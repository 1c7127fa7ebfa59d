"""What only Alibaba Cloud decides: interfaces of nodes, file systems and their clients, times of snapshots, keys."""
