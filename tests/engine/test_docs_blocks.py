"""Every command and code block of the documentation is run, checked, or listed with a reason."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from jsonschema import Draft7Validator

from gpuyard.cli.main import COMMANDS, app_of
from gpuyard.planning.check import check_stack_file
from gpuyard.sandbox.engine import Engine
from gpuyard.spec import ClusterSpec, SpecError
from gpuyard.spec.json_schema import stack_schema
from gpuyard.spec.stack_file import CLUSTER_KEY, read_stack_file
from gpuyard_policy.config import PackConfig, parse_config
from gpuyard_policy.rules import ALL_RULES
from tests.docs_blocks import (
    ELSEWHERE,
    LISTED,
    REPOSITORY,
    RUNS_THE_ENGINE,
    Block,
    Command,
    blocks,
    commands,
    elsewhere,
    pages,
)
from tests.engine.conftest import child_environment

SHELL, DATA = ("sh",), ("yaml", "json", "csv", "typescript")
PROJECT = (
    "Pulumi.yaml",
    "gpuyard-policy.yaml",
    ".pre-commit-hooks.yaml",
    "infra",
    "stacks",
    "schemas",
    "policies",
    "examples",
)
# Programs that a page may have run here: nothing that could reach beyond the page's folder.
RUNNABLE = ("gpuyard", ".venv/bin/gpuyard", "cat")
# What differs from run to run or from machine to machine; both what is shown and what is printed are masked.
MASKS = (
    (r"v3\.\d+\.\d+ \([a-z]+\)", "v3.# (#)"),
    (r"-[0-9a-f]{7}(?=[\"/\s])", "-#######"),
    (r"\b\d{4}-\d\d-\d\d(?= \d\d:\d\d)", "####-##-##"),
    # The older a history is, the wider is the bound.
    (r"\d+\.\d%(?=  (high|low|uncertain))", "##.#%"),
    (r"at most \d+\.\d+ h", "at most #.## h"),
)
# The day for which the histories of the pages are written; in the tests they end as long before today.
WRITTEN = date(2026, 12, 1)
ALL_BLOCKS = [block for page in pages() for block in blocks(page)]
ALL_COMMANDS = [command for block in ALL_BLOCKS if block.language in SHELL for command in commands(block)]
RULE_PAGES = [page for page in pages() if re.fullmatch(r"docs/rules/[A-Z]{3}\d{3}\.md", page)]


# Every block has a proof.


def test_every_block_is_of_a_kind_that_is_proved_or_listed() -> None:
    unknown = [
        f"{block.where}: ```{block.language}: {block.first_line}"
        for block in ALL_BLOCKS
        if block.language not in (*SHELL, *DATA, "python")
        and (block.page, block.first_line) not in LISTED
        and not (block.language == "text" and shown_by(block))
    ]
    assert not unknown, "no proof for:\n" + "\n".join(unknown)


def test_no_row_of_the_tables_is_of_the_past() -> None:
    present = {(block.page, block.first_line) for block in ALL_BLOCKS}
    assert set(LISTED) <= present, set(LISTED) - present
    for row in ELSEWHERE:
        assert any(elsewhere(command) is row for command in ALL_COMMANDS), f"nothing matches {row.pattern}"


@pytest.mark.parametrize(
    "test", sorted({row.test for row in ELSEWHERE} | {test for _, test in LISTED.values() if test})
)
def test_the_tests_that_the_tables_name_exist(test: str) -> None:
    path, name = test.split("::")
    assert f"def {name}(" in (REPOSITORY / path).read_text(encoding="utf-8")


def test_the_collector_sees_every_fence() -> None:
    """A fence that the pattern does not see would go unproved."""
    for page in pages():
        fences = re.findall(r"^ *```", (REPOSITORY / page).read_text(encoding="utf-8"), flags=re.M)
        assert len(fences) == 2 * len(blocks(page)), page


# Commands, programs and files of a page, in a folder of the page's own.


def is_run(command: Command) -> bool:
    return elsewhere(command) is None


def shown_by(block: Block) -> Block | None:
    """The block that prints what this one shows: the one right before it, where something of it is run."""
    before = blocks(block.page)
    place = before.index(block)
    found = before[place - 1] if place else None
    if found is None or not (found.language == "python" or any(map(is_run, commands(found)))):
        return None
    return found if found.language in (*SHELL, "python") else None


PAGES = [
    page
    for page in pages()
    if page not in RULE_PAGES
    and any(
        block.language in ("python", *DATA) or (block.language in SHELL and any(map(is_run, commands(block))))
        for block in blocks(page)
    )
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the project, with the environment that it names."""
    root = tmp_path / "gpuyard"
    root.mkdir()
    for name in PROJECT:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__", ".sandbox"))
        else:
            shutil.copy(source, root)
    (root / ".venv").symlink_to(sys.prefix)
    shutil.copytree(root / "examples" / "aws" / "vision-p4de", tmp_path / "other")
    return root


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_is_true(page: str, folder: Path, request: pytest.FixtureRequest) -> None:
    if page in RUNS_THE_ENGINE:
        request.getfixturevalue("engine")
    printed: dict[Block, str] = {}
    for block in blocks(page):
        if block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(moved_to_today(block.text) if block.language == "csv" else block.text, encoding="utf-8")
        if block.language in SHELL:
            printed[block] = "".join(run(command, folder) for command in commands(block) if is_run(command))
        elif block.language == "python":
            printed[block] = run_python(block, folder)
        elif block.language in DATA:
            CHECKS[block.language](block, folder)
        elif (source := shown_by(block)) is not None and (page, block.first_line) not in LISTED:
            assert_shown(block, printed[source])


def run(command: Command, folder: Path) -> str:
    program = command.text.split()[0]
    assert program in RUNNABLE, f"{command.block.where}: '{program}' is not run; see ELSEWHERE in tests/docs_blocks.py"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command.text],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == command.code, f"{command.block.where}: {command.text}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def run_python(block: Block, folder: Path) -> str:
    """Run a script as it stands; run a Pulumi program as `gpuyard check` does, which needs no engine."""
    if "import pulumi" not in block.text:
        script = folder / (block.title or "shown.py")
        script.write_text(block.text, encoding="utf-8")
        line = [sys.executable, script]
    else:
        root = folder / "shown"
        (root / "policies").mkdir(parents=True, exist_ok=True)
        (root / "Pulumi.yaml").write_text("name: shown\nruntime: python\n")
        (root / "Pulumi.dev.yaml").write_text("config:\n  aws:region: us-east-1\n")
        (root / "__main__.py").write_text(block.text, encoding="utf-8")
        line = [sys.executable, "-m", "gpuyard.cli.main", "check", "dev", "-C", root]
    done = subprocess.run(line, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block.where}\n{done.stdout}{done.stderr}"
    return done.stdout


def environment() -> dict[str, str]:
    path = os.pathsep.join((str(Path(sys.prefix) / "bin"), os.environ["PATH"]))
    return child_environment(PATH=path, COLUMNS="100", PYTHONDONTWRITEBYTECODE="1")


def moved_to_today(text: str) -> str:
    days = datetime.now(UTC).date() - WRITTEN
    return re.sub(r"\d{4}-\d\d-\d\d(?=T)", lambda day: str(date.fromisoformat(day[0]) + days), text)


def assert_shown(block: Block, printed: str) -> None:
    """What is shown is printed, line after line; a line of three dots stands for what is left out."""
    shown, output = masked(block.text), masked(printed)
    parts = [
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in shown.strip("\n").split("\n")
    ]
    assert re.search("^" + "".join(parts), output, flags=re.M), f"{block.where} shows\n{shown}\nprinted is\n{output}"


def masked(text: str) -> str:
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


# Data.

FILES = Draft7Validator(stack_schema())
HOOKS = {hook["id"] for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())}
COMPONENTS: dict[str, Any] = json.loads((REPOSITORY / "components" / "schema.json").read_text())["resources"]


def check_yaml(block: Block, folder: Path) -> None:
    data = yaml.safe_load(block.text)
    if "config" in data:
        check_stack(block.text, folder, is_wrong="wrong" in block.title)
    elif "repos" in data:
        assert {hook["id"] for repository in data["repos"] for hook in repository["hooks"]} <= HOOKS, block.where
    elif "runtime" in data:
        for one in data["resources"].values():
            assert set(one["properties"]) <= set(COMPONENTS[component_token(one["type"])]["inputProperties"]), (
                block.where
            )
    elif set(data) <= set(PackConfig.model_fields):
        settings = parse_config(data)
        assert {*settings.rules, *(one.rule for one in settings.suppressions)} <= {rule.id for rule in ALL_RULES}
    else:
        # A part of a cluster: put into one that is right without it.
        assert set(data) <= set(ClusterSpec.model_fields), f"{block.where}: what is this? {sorted(data)}"
        whole = yaml.safe_load((REPOSITORY / "stacks" / "Pulumi.aws-dev.yaml").read_text())
        whole["config"][CLUSTER_KEY].update(data)
        check_stack(yaml.safe_dump(whole), folder)


def component_token(name: str) -> str:
    return name if name.count(":") == 2 else name.replace(":", ":index:")


def check_stack(text: str, folder: Path, is_wrong: bool = False) -> None:
    path = folder / "stacks" / "Pulumi.shown.yaml"
    path.write_text(text, encoding="utf-8")
    if is_wrong:
        with pytest.raises(SpecError):
            check_stack_file(read_stack_file(path), "shown")
        return
    FILES.validate(yaml.safe_load(text))
    assert check_stack_file(read_stack_file(path), "shown").node_pools


def check_json(block: Block, folder: Path) -> None:
    assert json.loads(block.text), block.where


def check_csv(block: Block, folder: Path) -> None:
    widths = {line.count(",") for line in block.text.strip().splitlines()}
    assert len(widths) == 1, block.where
    assert block.title, f"{block.where}: give it the name of the file that the page's commands read"


def check_typescript(block: Block, folder: Path) -> None:
    """There is no SDK of another language here; its names are those of the schema."""
    used = re.findall(r"new gpuyard\.(\w+)\(\"[^\"]+\", \{(.*?)\}\)", block.text, flags=re.S)
    assert used, block.where
    for name, arguments in used:
        keys = set(re.findall(r"(\w+):", arguments))
        assert keys <= set(COMPONENTS[f"gpuyard:index:{name}"]["inputProperties"]), block.where


CHECKS = {"yaml": check_yaml, "json": check_json, "csv": check_csv, "typescript": check_typescript}


@pytest.mark.parametrize("page", RULE_PAGES)
def test_the_settings_of_a_rule_page_are_settings(page: str) -> None:
    (block,) = blocks(page)
    settings = parse_config(yaml.safe_load(block.text))
    assert list(settings.rules) == [Path(page).stem]


# Commands that are not run: what can be said of them without running them.


def test_folders_exist() -> None:
    for command in ALL_COMMANDS:
        for name in re.findall(r"(?:-C|^cd) (examples/\S+)", command.text):
            assert (REPOSITORY / name).is_dir(), f"{command.block.where}: {command.text}"
        if found := re.match(r"\S*gpuyard (?:up|preview|destroy) (\w+) -C (examples/\S+)", command.text):
            assert (REPOSITORY / found[2] / f"Pulumi.{found[1]}.yaml").is_file(), command.block.where


def test_make_knows_every_target() -> None:
    known = re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), flags=re.M)
    for command in ALL_COMMANDS:
        if found := re.match(r"make ([a-z]+)(?: STACK=(\S+))?", command.text):
            assert found[1] in known, f"{command.block.where}: {command.text}"
            stack = REPOSITORY / "stacks" / f"Pulumi.{found[2]}.yaml"
            assert found[2] is None or stack.is_file(), f"{command.block.where}: {command.text}"


def test_the_engine_knows_every_pulumi_command(engine: Engine) -> None:
    wanted: dict[tuple[str, ...], set[str]] = {}
    for command in ALL_COMMANDS:
        for text in re.findall(r"pulumi [^&|)]+", command.text):
            words = shlex.split(text)[1:]
            verbs = tuple(word for word in words[:2] if re.fullmatch(r"[a-z]+", word))
            verbs = verbs if verbs[0] in ("stack", "config", "package", "state") else verbs[:1]
            options = {word.split("=")[0] for word in words if re.fullmatch(r"--?[a-z-]+(=.*)?", word)}
            wanted.setdefault(verbs, set()).update(options)
    assert {("up",), ("login",), ("stack", "init")} <= set(wanted)
    for verbs, options in wanted.items():
        told, above = (
            subprocess.run([engine.path, *words, "--help"], capture_output=True, text=True, check=True).stdout
            for words in (verbs, verbs[:-1])
        )
        assert told != above, f"pulumi has no '{' '.join(verbs)}'"
        assert not [one for one in options if not re.search(rf"(^|\s|,){one}\b", told)], (verbs, options)


def test_commands_within_sentences_exist() -> None:
    """`gpuyard catalog show` in a sentence is a promise like one in a block."""
    app = typer.main.get_command(app_of(*COMMANDS))
    for page in pages():
        for text in re.findall(r"`(?:\.venv/bin/)?gpuyard ([^`\n]+)`", (REPOSITORY / page).read_text(encoding="utf-8")):
            command: Any = app
            for word in text.split():
                if not hasattr(command, "commands") or not re.fullmatch(r"[a-z]+", word):
                    break
                assert word in command.commands, f"{page}: gpuyard {text}"
                command = command.commands[word]
            known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
            options = {word.split("=")[0] for word in text.split() if re.match(r"--?[a-z]", word)}
            assert options <= known | {"--help"} or command is app, f"{page}: gpuyard {text}"


def test_the_layout_of_the_design_exists() -> None:
    layout = next(block for block in blocks("docs/design.md") if block.text.startswith("Pulumi.yaml"))
    folders: list[tuple[int, str]] = []
    for line in layout.text.splitlines():
        found = re.match(r"( *)((?:[\w.-]+/)+|<cloud>/)(?=\s|$)", line)
        if found is None:
            continue
        depth = len(found[1])
        folders = [(above, name) for above, name in folders if above < depth]
        path = "".join(name for _, name in folders) + found[2]
        if "<" not in path:
            assert (REPOSITORY / path).is_dir(), path
        folders.append((depth, found[2]))
