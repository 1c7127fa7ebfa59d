"""What runs on a node: the watcher, and what a node does when it leaves."""
