"""One folder for each cloud, with the same file names and functions in each."""
