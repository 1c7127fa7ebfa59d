"""Loading a cloud's SDK piece by piece.

A service of the SDK imports every resource it has when the first one is named: hundreds of modules, of which a cluster
uses a handful. In the sandbox's own process a service is loaded lazily instead: naming a resource imports its module,
and whatever cannot be found that way loads the whole service as the SDK does it.
"""

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def load_leanly(sdk: str, services: Iterable[str]) -> None:
    """Make services of an SDK load piece by piece; one that is loaded already stays as it is.

    Args:
        sdk: Name of the SDK's package, such as ``pulumi_aws``.
        services: Names of services, such as ``ec2``.
    """
    package = import_module(sdk)
    for service in services:
        name = f"{sdk}.{service}"
        # The SDK's own placeholder is of another class until the service is loaded.
        if type(sys.modules.get(name)) is ModuleType:
            continue
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            sys.modules[name] = _LeanModule(spec)
            setattr(package, service, sys.modules[name])


class _LeanModule(ModuleType):
    """A service whose resources are imported when they are named."""

    def __init__(self, spec: ModuleSpec) -> None:
        super().__init__(spec.name)
        self.__spec__ = spec
        self.__file__ = spec.origin
        self.__path__ = list(spec.submodule_search_locations or ())
        self.__package__ = spec.name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        found = self._own_module(name)
        if found is None:
            self._load_whole()
            found = self.__dict__.get(name)
        if found is None:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return found

    def __dir__(self) -> Iterable[str]:
        self._load_whole()
        return sorted(self.__dict__)

    def _own_module(self, name: str) -> Any:
        """A module of the service, a resource or function from the module called like it, or an argument type."""
        plain = name.removesuffix("_output")
        for module in (_WORD.sub("_", plain).lower(), "_inputs" if name.endswith("Args") else ""):
            if module and find_spec(f"{self.__name__}.{module}") is not None:
                home = import_module(f"{self.__name__}.{module}")
                found = getattr(home, name, home if module == name else None)
                # Importing has put the module here under its name; what is in it by that name is what was asked for.
                self.__dict__[module] = getattr(home, module, home)
                if found is not None:
                    return found
        return None

    def _load_whole(self) -> None:
        """Run the service's own start-up in this module, once: from then on it is what the SDK makes of it."""
        loader = self.__spec__.loader if self.__spec__ else None
        if loader is None or "_whole" in self.__dict__:
            return
        self.__dict__["_whole"] = True
        loader.exec_module(self)
