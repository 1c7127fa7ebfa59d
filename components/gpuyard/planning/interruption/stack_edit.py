"""A switch written into a stack file: one key of one pool, comments and the rest as they were."""

from collections.abc import Iterator
from io import StringIO
from typing import Any, cast

from ruamel.yaml import YAML

from gpuyard.planning.interruption.advice import Switch
from gpuyard.spec.problems import Problem, SpecError
from gpuyard.spec.stack_file import CLUSTER_KEY, SHORT_CLUSTER_KEY

_WIDTH = 1_000_000
"""No line is folded."""
_INDENTS = ((2, 4, 2), (2, 2, 0), (4, 6, 4), (4, 4, 0), (4, 4, 2))
"""How people indent: mappings, sequences, and the dash within. The first that gives the file back is the file's."""


def with_switch(text: str, pool: str, switch: Switch) -> str:
    """The text of a stack file after a switch.

    Args:
        text: The file's text, one that could be planned.
        pool: The pool's name.
        switch: What to change.

    Returns:
        The new text. Where the file is indented in more than one way, its indentation is made even.

    Raises:
        SpecError: Another pool would be changed too, as both are one value of the file (a YAML alias).
    """
    yaml = _yaml_for(text)
    document: Any = cast(Any, yaml).load(text)
    before = _plain_pools(document)
    node = _pools(document)[pool]
    if switch.key == "instance_type":
        node["instance_type"] = switch.to[0]
    elif "zones" in node:
        _set_items(node["zones"], switch.to)
    else:
        # Before the last key: what follows that, such as a comment on the next pool, belongs to the file's next part.
        node.insert(len(node) - 1, "zones", list(switch.to))
    also = [name for name, value in _plain_pools(document).items() if name != pool and value != before[name]]
    if also:
        message = f"pool '{pool}' shares its lines with '{also[0]}': a switch would change both."
        raise SpecError([Problem(("--write",), message, "Write the pools out, each with its own lines.")])
    return _dumped(yaml, document)


def _yaml_for(text: str) -> YAML:
    for yaml in _candidates(text):
        if _dumped(yaml, cast(Any, yaml).load(text)) == text:
            return yaml
    return next(_candidates(text))


def _candidates(text: str) -> Iterator[YAML]:
    for mapping, sequence, offset in _INDENTS:
        yaml = YAML(typ="rt")
        yaml.preserve_quotes = True
        yaml.width = _WIDTH
        yaml.explicit_start = text.startswith("---")
        yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
        yield yaml


def _dumped(yaml: YAML, document: Any) -> str:
    out = StringIO()
    cast(Any, yaml).dump(document, out)
    return out.getvalue()


def _pools(document: Any) -> Any:
    config = document["config"]
    key = CLUSTER_KEY if CLUSTER_KEY in config else SHORT_CLUSTER_KEY
    return config[key]["node_pools"]


def _plain_pools(document: Any) -> dict[str, str]:
    return {str(name): repr(value) for name, value in _pools(document).items()}


def _set_items(items: Any, to: tuple[str, ...]) -> None:
    """Make a list hold these; what stays keeps its line and its comment."""
    for place in reversed(range(len(items))):
        if items[place] not in to:
            del items[place]
    items.extend(name for name in to if name not in items)
