"""``python3 -m gpuyard.node watch|leave|release|health|checkpoint``."""

import importlib
import sys
from typing import List

from gpuyard.node import settings

# Each verb's module, its function, and whether that takes the arguments.
_VERBS = {
    "watch": ("watcher", "main", False),
    "leave": ("leaving", "main", True),
    "release": ("leaving", "release", False),
    "health": ("health", "main", True),
    "checkpoint": ("checkpoints", "main", True),
}


def main(argv: List[str]) -> int:
    """Run one verb with its own arguments.

    Returns:
        Its exit code: 0 good, 1 something said no, 2 a wrong word or setting, 3 it could not do its work.
    """
    if not argv or argv[0] not in _VERBS:
        settings.log(f"one of {', '.join(_VERBS)} is needed")
        return 2
    module, function, takes_arguments = _VERBS[argv[0]]
    try:
        run = getattr(importlib.import_module("gpuyard.node." + module), function)
        return run(argv[1:]) if takes_arguments else run()
    except settings.SettingsError as error:
        settings.log(str(error))
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
