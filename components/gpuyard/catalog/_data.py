"""Reading the package's own data files."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_table(file_name: str) -> dict[str, Any]:
    """One catalog data file as it stands.

    Args:
        file_name: Name of a file in ``gpuyard/catalog/data``.

    Returns:
        The file's content as plain data, read once; it must not be changed.

    Raises:
        FileNotFoundError: The package was installed without its data files.
    """
    return json.loads((files("gpuyard.catalog") / "data" / file_name).read_text(encoding="utf-8"))


def read_rows(file_name: str) -> list[dict[str, Any]]:
    """Rows of one catalog data file.

    Args:
        file_name: Name of a file in ``gpuyard/catalog/data``.

    Returns:
        The file's rows as plain dictionaries; lists are turned into tuples so that a row can be frozen.

    Raises:
        FileNotFoundError: The package was installed without its data files.
    """
    return [{key: _frozen(value) for key, value in row.items()} for row in read_table(file_name)["rows"]]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
