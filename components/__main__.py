"""What Pulumi starts for programs in every language: see PulumiPlugin.yaml beside this file."""

from gpuyard.provider.host import serve

serve()
