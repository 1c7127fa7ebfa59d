"""The component provider: the plugin that builds the components for programs in every Pulumi language."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pulumi
from pulumi.errors import InputPropertiesError, InputPropertyErrorDetails
from pulumi.output import Unknown
from pulumi.provider import ConstructResult, main
from pulumi.provider.experimental.component import ComponentProvider

from gpuyard import __version__
from gpuyard.provider.components import COMPONENTS, PACKAGE
from gpuyard.provider.names import Names
from gpuyard.provider.schema import package_schema
from gpuyard.resources._common import KNOWN_LATER
from gpuyard.spec.problems import Path, Problem, SpecError, did_you_mean, dotted, one_of

# Here the value may as well be a secret: only a plain one arrives as it is.
_NOT_PLAIN = "comes from another resource or is a secret, but the plan needs to know it before."


class GpuyardProvider(ComponentProvider):
    """Pulumi's own host of components, with a schema from the spec's models, and strict with arguments.

    Pulumi's host drops keys that it does not know, and a misspelled retention or key of encryption with them. Here the
    components see every key that was written, and refuse it.
    """

    def __init__(self) -> None:
        super().__init__(list(COMPONENTS), PACKAGE, version=__version__)
        self._names = {name: Names(found, self._type_defs) for name, found in self._component_defs.items()}
        self.schema = json.dumps(package_schema(self.analyzer, self._component_defs, self._type_defs, __version__))

    def construct(
        self, name: str, resource_type: str, inputs: Any, options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """Build a component.

        Args:
            name: The component's name.
            resource_type: Its type token.
            inputs: Its arguments, under the schema's names.
            options: Resource options.

        Returns:
            The component's URN and outputs.

        Raises:
            InputPropertiesError: There is no such component; or with every problem of the arguments, each at its path
                in the program.
        """
        package, _, kind = (*resource_type.split(":"), "", "")[:3]
        if package != PACKAGE or kind not in self._components:
            known = did_you_mean(kind, self._components) or f"Components: {one_of(sorted(self._components))}."
            raise InputPropertiesError(f"{PACKAGE} {__version__} has no component '{resource_type}'. {known}")
        component: Any = self._components[kind]
        names = self._names[kind]
        try:
            built = component(name, names.to_python(inputs), options)
        except SpecError as error:
            raise _refusal([names.to_schema(problem) for problem in error.problems], inputs) from None
        return ConstructResult(built.urn, self.get_state(built, self._component_defs[kind]))


def _refusal(problems: Sequence[Problem], inputs: Mapping[str, Any]) -> InputPropertiesError:
    """Problems as the engine shows them, each with the value that the program gave."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [f"{count} with its arguments, so nothing of it was built:"]
    errors: list[InputPropertyErrorDetails] = []
    for problem in problems:
        message = _NOT_PLAIN if problem.message == KNOWN_LATER else problem.message
        path, reason = dotted(problem.path), f"{message} {problem.remedy}".strip()
        if not problem.path:
            lines.append(f"- {reason}")
        elif _holds_outputs(_value_at(inputs, problem.path)):
            # The engine (3.274) panics when it shows a value that is not known yet.
            lines.append(f"- property {path} has a problem: {reason}")
        else:
            errors.append({"property_path": path, "reason": reason})
    return InputPropertiesError("\n\t\t".join(lines), errors)


def _value_at(inputs: Mapping[str, Any], path: Path) -> Any:
    value: Any = inputs
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _holds_outputs(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_outputs(inner) for inner in cast(Mapping[str, Any], value).values())
    if isinstance(value, list):
        return any(_holds_outputs(inner) for inner in cast(list[Any], value))
    return isinstance(value, (pulumi.Output, Unknown))


def serve() -> None:
    """Serve the components until the engine that started this process ends it."""
    main(GpuyardProvider(), sys.argv[1:])
