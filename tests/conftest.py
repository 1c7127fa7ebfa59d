"""Settings of all tests."""

from hypothesis import settings

# The same examples at every run: a law that fails does so for everyone, and CI is not a lottery.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
