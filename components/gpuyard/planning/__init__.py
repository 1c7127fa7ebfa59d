"""From what a person asks for to what will be built, and why: pure functions over the spec and the catalog."""
