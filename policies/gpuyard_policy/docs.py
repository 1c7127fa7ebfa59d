"""The pages about the rules, made from the rules themselves: ``python -m gpuyard_policy.docs``."""

import sys
from collections.abc import Sequence
from pathlib import Path

from gpuyard_policy.rules import ALL_RULES, Rule
from gpuyard_policy.rules.rule import PROFILES

INDEX = "README.md"
_FAMILIES = {
    "fabric": "What joins GPUs and nodes",
    "storage": "Where data lies, and how fast it comes",
    "snapshots": "Snapshots of disks",
    "spot": "Machines that can be taken away",
    "cost": "What costs more than it must",
    "access": "Who reaches nodes and data",
    "operations": "What is watched, tagged, kept and pinned",
}
_HEAD = """# The rules

Made from the rules themselves by `python -m gpuyard_policy.docs`; do not edit. Levels are those of the profiles `dev`,
`staging` and `prod`. `gpuyard rules ID` prints the same page. What a rule cannot tell is `undecided`, and never a pass.
"""


def page_of(rule: Rule) -> str:
    """The page of one rule, as Markdown.

    Args:
        rule: The rule.

    Returns:
        What it demands, why, what to do, an example, its levels, and what can be set.
    """
    wrong, right = rule.example
    lines = [
        f"# {rule.id}: {rule.title}",
        "",
        f"`{rule.name}` · {rule.family} · severity {rule.severity}",
        "",
        "## Why",
        "",
        rule.rationale,
        "",
        "## What to do",
        "",
        rule.remedy,
        "",
        "## Example",
        "",
        f"- fails: {wrong}",
        f"- passes: {right}",
        "",
        "## Levels",
        "",
        f"| {' | '.join(PROFILES)} |",
        f"| {' | '.join('---' for _ in PROFILES)} |",
        f"| {' | '.join(rule.levels[profile] for profile in PROFILES)} |",
        "",
        *_thresholds_of(rule),
        "## Settings",
        "",
        "```yaml",
        *_settings_of(rule),
        "```",
    ]
    return "\n".join(lines) + "\n"


def index_of(rules: Sequence[Rule]) -> str:
    """The list of all rules, by family, as Markdown.

    Args:
        rules: The rules.

    Returns:
        The page.
    """
    lines = [_HEAD]
    for family, title in _FAMILIES.items():
        lines += [f"## {title}", "", "| rule | demands | dev | staging | prod |", "| --- | --- | --- | --- | --- |"]
        for rule in rules:
            if rule.family == family:
                levels = " | ".join(rule.levels[profile] for profile in PROFILES)
                lines.append(f"| [{rule.id}]({rule.id}.md) `{rule.name}` | {rule.title} | {levels} |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def pages(rules: Sequence[Rule] = ALL_RULES) -> dict[str, str]:
    """Every page by the name of its file.

    Args:
        rules: The rules.

    Returns:
        The index and a page for each rule.
    """
    return {INDEX: index_of(rules), **{f"{rule.id}.md": page_of(rule) for rule in rules}}


def write_pages(folder: Path) -> None:
    """Write every page, and remove those of rules that are no more.

    Args:
        folder: Where the pages are.
    """
    wanted = pages()
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


def _thresholds_of(rule: Rule) -> list[str]:
    if not rule.thresholds:
        return []
    rows = [
        f"| `{name}` | {one.default:g} {one.unit} | {one.meaning} | {one.source} |"
        for name, one in rule.thresholds.items()
    ]
    return ["## Thresholds", "", "| name | default | meaning | source |", "| --- | --- | --- | --- |", *rows, ""]


def _settings_of(rule: Rule) -> list[str]:
    values = ", ".join(f"{name}: {one.default:g}" for name, one in rule.thresholds.items())
    return [
        "rules:",
        f"  {rule.id}:",
        "    level: advisory  # advisory, mandatory or disabled",
        *([f"    thresholds: {{{values}}}"] if values else []),
        "suppressions:",
        f"  - {{rule: {rule.id}, resource: name-of-the-resource, reason: why it is accepted, expires: 2027-03-31}}",
    ]


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/rules"))
