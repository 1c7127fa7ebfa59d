"""What runs on a node itself: Python's standard library alone, from version 3.6 on."""
