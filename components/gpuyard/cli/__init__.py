"""The ``gpuyard`` command."""
