"""Marks on values that travel between programs, engine, providers and state.

Source: pulumi/pulumi, sdk/go/common/resource/properties.go and sdk/python/lib/pulumi/runtime/rpc.py.
"""

# A value that is known only after the update.
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
# The key of a wrapped value: a secret, an asset ...
SIGNATURE = "4dabf18193072939515e22adb298388d"
