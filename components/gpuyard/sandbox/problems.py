"""What stops the sandbox that is not bad input."""


class SandboxError(Exception):
    """The sandbox could not do its work; the message says why, and what to do."""
