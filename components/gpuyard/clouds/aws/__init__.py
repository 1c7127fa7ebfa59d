"""AWS: one plan field to one resource property."""
