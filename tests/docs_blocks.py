"""Every fenced block of README, CONTRIBUTING, docs/ and the examples' READMEs, and what proves each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$", flags=re.S | re.M)
_EXIT_CODE = re.compile(r"#.*\bexit code (\d)")


@dataclass(frozen=True)
class Block:
    """One fenced block. ``title`` is the file that it is, as ```` ```yaml title="stacks/Pulumi.lab.yaml" ```` says."""

    page: str
    line: int
    language: str
    title: str
    text: str

    @property
    def first_line(self) -> str:
        return self.text.strip().split("\n", 1)[0].strip()

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One command of a shell block, and the exit code that its comment tells (``# exit code 1``)."""

    block: Block
    text: str
    code: int


@dataclass(frozen=True)
class Elsewhere:
    """Commands that are not run as they stand: why, and the test that proves what they promise."""

    pattern: str
    why: str
    test: str
    is_engine_run: bool = False


# Not run here: what needs an account or a network, and runs of the engine that other tests make.
ELSEWHERE = (
    Elsewhere(
        r"(\.venv/bin/)?gpuyard (up|preview|destroy) \w+ -C examples/.*",
        "each example lives its whole life on the engine",
        "tests/engine/test_examples.py::test_preview_up_second_up_destroy",
    ),
    Elsewhere(
        r"(\.venv/bin/)?gpuyard (up|preview|refresh|outputs|destroy) (?!wrong)[\w-]+( \S+)*",
        "runs of the engine, which take seconds each",
        "tests/engine/test_commands.py::test_up_shows_progress_tree_policies_outputs_and_what_it_was",
        is_engine_run=True,
    ),
    Elsewhere(
        r"gpuyard check",
        "nine stacks take as long as all of this; pages name one",
        "tests/unit/cli/test_check.py::test_all_stacks_are_checked_in_processes_of_their_own_and_one_that_fails_hides_no_other",
    ),
    Elsewhere(r"cd examples/\S+", "folder checked here", "tests/engine/test_docs_blocks.py::test_folders_exist"),
    Elsewhere(
        r"make [a-z]+( STACK=\S+)?",
        "target and stack are looked up; the commands behind make have tests of their own",
        "tests/engine/test_docs_blocks.py::test_make_knows_every_target",
    ),
    Elsewhere(
        r"\(?(cd \w+ && )?pulumi (?!preview --json)(?!.*gpuyard check).*",
        "the official CLI against a cloud or a backend of one's own; its commands and options are compared with the "
        "engine's own help",
        "tests/engine/test_docs_blocks.py::test_the_engine_knows_every_pulumi_command",
    ),
    Elsewhere(
        r"(pulumi (preview --json|stack export) .*)?gpuyard check --(plan|state) .*",
        "a preview's JSON and a stored state are judged after a run of the engine",
        "tests/engine/test_check.py::test_br_095_a_program_run_in_process_a_preview_and_the_state_say_the_same",
    ),
    Elsewhere(
        r"pip install .*gpuyard.*",
        "the wheel is installed into empty environments",
        "tests/unit/test_wheel.py::test_the_wheel_works_in_an_empty_environment",
    ),
)

# Pages whose runs of the engine are made as they stand.
RUNS_THE_ENGINE = ("docs/tutorial.md",)

# Blocks in which nothing can be run: why, and the test that proves them, by page and first line.
LISTED: dict[tuple[str, str], tuple[str, str]] = {
    ("README.md", "aws-prod on Pulumi v3.274.1 (cache), against simulated providers"): (
        "what make up prints", "tests/engine/test_readme.py::test_an_up_of_prod_prints_what_is_shown",
    ),
    ("README.md", "1 problem, nothing was started:"): (
        "what a wrong stack file prints", "tests/engine/test_readme.py::test_a_wrong_key_prints_what_is_shown",
    ),
    ("CONTRIBUTING.md", "stack file -> spec -> catalog -> planning -> resources -> outputs"): ("a drawing", ""),
    ("docs/design.md", "stack config (YAML)"): ("a drawing of the way of the data", ""),
    ("docs/design.md", f"Pulumi.yaml{' ' * 17}name: gpuyard, runtime python, main: infra, stackConfigDir: stacks"): (
        "a list of folders", "tests/engine/test_docs_blocks.py::test_the_layout_of_the_design_exists",
    ),
}  # fmt: skip


def pages() -> list[str]:
    """Every page with blocks, relative to the repository."""
    found = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *(REPOSITORY / "docs").rglob("*.md")]
    found += [path for path in (REPOSITORY / "examples").rglob("README.md") if "/." not in path.as_posix()]
    return sorted(path.relative_to(REPOSITORY).as_posix() for path in found)


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return [_block(page, text, found) for found in _FENCE.finditer(text)]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a shell block: continued lines joined, comments taken off."""
    for line in block.text.replace("\\\n", " ").splitlines():
        code = _EXIT_CODE.search(line)
        text = re.sub(r"(^|\s+)#.*$", "", line).strip()
        if text:
            yield Command(block, re.sub(r"\s+", " ", text), int(code[1]) if code else 0)


def elsewhere(command: Command) -> Elsewhere | None:
    """The row of the table for a command that is not run as it stands."""
    found = next((row for row in ELSEWHERE if re.fullmatch(row.pattern, command.text)), None)
    return None if found and found.is_engine_run and command.block.page in RUNS_THE_ENGINE else found


def _block(page: str, text: str, found: re.Match[str]) -> Block:
    language, _, rest = found["info"].strip().partition(" ")
    title = re.search(r'title="([^"]+)"', rest)
    body = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.M) if found["indent"] else found["text"]
    return Block(page, text.count("\n", 0, found.start()) + 1, language, title[1] if title else "", body)
