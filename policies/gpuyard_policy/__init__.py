"""gpuyard's rules: facts about any Pulumi program's resources, and pure functions over them."""
