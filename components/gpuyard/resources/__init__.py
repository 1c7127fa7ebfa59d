"""The components: cloud-neutral classes over the builders of each cloud."""
