"""The components for every Pulumi language: their schema, and the plugin that builds them."""
