"""Programs as they travel to a node: in archives, and without what only people read."""

import ast
import base64
import gzip
import hashlib
import io
import tarfile
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from gpuyard.bootstrap.files import NodeFile

PROGRAMS_PREFIX = "gpuyard-node"


@dataclass(frozen=True, slots=True)
class Programs:
    """The package ``gpuyard.node`` as one archive, and the sum that names it."""

    content: bytes
    sha256: str

    def key(self, pool: str) -> str:
        """Where a pool's copy lies in its bucket: another content lies elsewhere, so that no node gets it unasked."""
        return f"{PROGRAMS_PREFIX}/{pool}/{self.sha256[:16]}.tar.gz"

    def text_key(self, pool: str) -> str:
        """Where :attr:`text` lies: nodes know by the ending that it is base64."""
        return f"{self.key(pool)}.b64"

    @property
    def text(self) -> str:
        """The content in base64, for clouds whose provider writes nothing but text into a bucket."""
        return base64.b64encode(self.content).decode()


@cache
def node_programs() -> Programs:
    """The programs that run on nodes: health gate, watcher and checkpoints. Too much for user data."""
    modules = sorted(files("gpuyard.node").iterdir(), key=lambda one: one.name)
    found = {"gpuyard/__init__.py": NodeFile("0644", "")}
    for module in modules:
        if module.name.endswith(".py"):
            text = stripped_python(module.read_text(encoding="utf-8"))
            found[f"gpuyard/node/{module.name}"] = NodeFile("0644", text)
    content = archive_of(found)
    return Programs(content, hashlib.sha256(content).hexdigest())


def archive_of(entries: Mapping[str, NodeFile]) -> bytes:
    """A compressed archive of files that belong to root, the same for the same files.

    Args:
        entries: Files by path.

    Returns:
        A tar archive in gzip.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, file in sorted(entries.items()):
            content = (stripped_shell(file.content) if path.endswith(".sh") else file.content).encode()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.mode, entry.size, entry.uname, entry.gname = int(file.mode, 8), len(content), "root", "root"
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def stripped_python(source: str) -> str:
    """A Python program without docstrings, comments on lines of their own, and blank lines.

    The rest stays as it was written, so that every version of Python makes the same text of it.

    Args:
        source: The program.

    Returns:
        A program that does the same.
    """
    lines = source.splitlines()
    tree = ast.parse(source)
    only: dict[int, str] = {}
    dropped: set[int] = set()
    for first, last, is_whole_body, indent in _docstrings(tree):
        dropped.update(range(first, last + 1))
        if is_whole_body:
            only[first] = f"{' ' * indent}pass"
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        row, column = token.start
        if token.type in (tokenize.COMMENT, tokenize.NL) and not token.line[:column].strip():
            dropped.add(row)
    kept = [only.get(number, line) for number, line in enumerate(lines, 1) if number not in dropped or number in only]
    return "".join(f"{line}\n" for line in kept)


def stripped_shell(source: str) -> str:
    """A shell script without comments on lines of their own and blank lines; its first line stays.

    Args:
        source: The script, which has no here-document with such lines.

    Returns:
        A script that does the same.
    """
    first, *rest = source.splitlines()
    kept = [line for line in rest if line.strip() and not line.lstrip().startswith("#")]
    return "".join(f"{line}\n" for line in [first, *kept])


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, int, bool, int]]:
    """First and last line of each docstring, whether there is nothing else in its body, and its indent."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if ast.get_docstring(node, clean=False) is None:
            continue
        text = node.body[0]
        lonely = len(node.body) == 1 and not isinstance(node, ast.Module)
        yield text.lineno, text.end_lineno or text.lineno, lonely, text.col_offset
