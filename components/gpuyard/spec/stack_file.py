"""A stack file: the cluster description in it, and the line of every value."""

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from gpuyard.spec.problems import Path, Problem, SpecError

CLUSTER_KEY = "gpuyard:cluster"
# A key without a namespace belongs to the project, and the project is called gpuyard.
SHORT_CLUSTER_KEY = "cluster"

# A description has 6 levels; what is much deeper would exhaust Python's stack.
_DEEPEST = 64


@dataclass(frozen=True)
class StackFile:
    """One ``Pulumi.<stack>.yaml``.

    Attributes:
        path: Where it is.
        shown_as: How it is named to people.
        config: Everything under ``config:`` as plain data.
        cluster: The cluster description as plain data, None when there is none.
    """

    path: FilePath
    shown_as: str
    config: dict[str, Any]
    cluster: Any
    _document: Any

    def line_of(self, path: Path) -> int | None:
        """The line, counted from 1, of a value inside the cluster description, or of the nearest thing around it."""
        node, line = _enter(_enter((self._document, None), "config"), *_cluster_keys(self._document))
        for part in path:
            node, found = _enter((node, line), part)
            if found is None:
                break
            line = found
        return line

    def line_of_config(self, key: str) -> int | None:
        """The line of one key under ``config:``."""
        return _enter(_enter((self._document, None), "config"), key)[1]

    def located(self, problem: Problem) -> Problem:
        """A problem of the cluster description with its place in this file."""
        shown: Path = (CLUSTER_KEY, *problem.path)
        return Problem(shown, problem.message, problem.remedy, self.shown_as, self.line_of(problem.path))


def read_stack_file(path: FilePath, shown_as: str | None = None) -> StackFile:
    """Read a stack file without judging what it asks for.

    Args:
        path: Where it is.
        shown_as: How problems name it, the path itself when left out.

    Returns:
        The file's content.

    Raises:
        SpecError: The file cannot be read, is not YAML, repeats a key, or has no mapping under ``config:``.
    """
    shown = shown_as or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError([Problem((), f"cannot be read: {error}.", file=shown)]) from None
    try:
        document: Any = cast(Any, YAML(typ="rt")).load(text)
    except YAMLError as error:
        raise SpecError([_yaml_problem(error).at(shown, _line_of_error(error))]) from None
    except RecursionError:
        raise SpecError([_too_deep(shown)]) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # So ruamel.yaml answers a value that does not fit its tag (!!float x), or a date that is none (2026-02-30).
        message = f"is not valid YAML: a value does not fit its type ({error})."
        raise SpecError([Problem((), message, file=shown)]) from None
    try:
        plain: Any = _plain(document)
    except RecursionError:
        raise SpecError([_too_deep(shown)]) from None
    config: Any = cast(dict[str, Any], plain).get("config") if isinstance(plain, dict) else None
    if not isinstance(config, dict):
        message = "has no 'config:' mapping."
        raise SpecError([Problem((), message, f"Put the cluster under config: {CLUSTER_KEY}:", shown, 1)])
    keys = _cluster_keys(document)
    cluster = cast(dict[str, Any], config).get(keys[0]) if keys else None
    return StackFile(path, shown, cast(dict[str, Any], config), cluster, document)


def _cluster_keys(document: Any) -> list[str]:
    config: Any = document.get("config", {}) if hasattr(document, "get") else {}
    return [key for key in (CLUSTER_KEY, SHORT_CLUSTER_KEY) if key in config][:1]


def _enter(at: tuple[Any, int | None], *keys: str | int) -> tuple[Any, int | None]:
    node, line = at
    for key in keys:
        try:
            place = node.lc.key(key) if isinstance(key, str) else node.lc.item(key)
            node, line = node[key], int(place[0]) + 1
        except (AttributeError, KeyError, IndexError, TypeError):
            return None, None
    return node, line


def _plain(node: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(node, dict):
        return {str(key): _plain(value, depth + 1) for key, value in cast(dict[Any, Any], node).items()}
    if isinstance(node, list):
        return [_plain(value, depth + 1) for value in cast(list[Any], node)]
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return str(node)


def _too_deep(shown: str) -> Problem:
    message = "is not valid YAML for a stack: it is nested too deep."
    return Problem((), message, f"Use at most {_DEEPEST} levels.", shown, 1)


def _yaml_problem(error: YAMLError) -> Problem:
    if isinstance(error, MarkedYAMLError):
        marked = cast(Any, error)
        text = " ".join(str(part) for part in (marked.context, marked.problem) if part)
        return Problem((), f"is not valid YAML: {' '.join(text.split())}.")
    return Problem((), f"is not valid YAML: {error}.")


def _line_of_error(error: YAMLError) -> int:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return 1 if mark is None else int(mark.line) + 1
