"""What runs on a node when it boots: small scripts, rendered into cloud-init user data."""
