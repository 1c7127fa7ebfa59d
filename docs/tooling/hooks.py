"""Hooks of the documentation site: pages made when it is built, and links that leave docs/."""

import posixpath
import re
from pathlib import Path
from typing import Any

from examples_pages import example_pages
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from reference_pages import catalog_page, cli_page, components_page, stack_file_page

REPOSITORY = Path(__file__).parents[2]
# Pages of the site that are files elsewhere in the repository, by their name in the site.
ELSEWHERE = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md", **example_pages(REPOSITORY)}
MADE = {
    "reference/cli.md": cli_page,
    "reference/stack-file.md": stack_file_page,
    "reference/components.md": components_page,
    "reference/catalog.md": catalog_page,
}
# Headings of the examples; those that are about no cloud are about reuse.
EXAMPLES = {"aws": "AWS", "alicloud": "Alibaba Cloud", "tencentcloud": "Tencent Cloud"}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_FENCED = re.compile(r"(^ *```.*?^ *```[^\n]*$|`[^`\n]+`(?!\]))", flags=re.S | re.M)


def on_config(config: Any) -> None:
    """Add the examples to the navigation."""
    groups: dict[str, list[str]] = {}
    for name in ELSEWHERE:
        if name.startswith("examples/"):
            groups.setdefault(EXAMPLES.get(name.split("/")[1], "Reuse"), []).append(name)
    config["nav"].append({"Examples": [{title: groups[title]} for title in sorted(groups)]})


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made now, and those that are kept elsewhere in the repository."""
    for name, original in ELSEWHERE.items():
        files.append(File.generated(config, name, content=(REPOSITORY / original).read_text(encoding="utf-8")))
    for name, make in MADE.items():
        files.append(File.generated(config, name, content=make()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point links at pages of the site; what is no page becomes its path in the repository."""
    source = page.file.src_uri
    here = posixpath.dirname(ELSEWHERE.get(source, f"docs/{source}"))
    pages = {original: name for name, original in ELSEWHERE.items()}

    def moved(link: re.Match[str]) -> str:
        text, target, anchor = link["text"], link["target"], link["anchor"] or ""
        if ":" in target:
            return link[0]
        path = posixpath.normpath(posixpath.join(here, target))
        found = pages.get(path) or pages.get(f"{path}/README.md") or (path == "README.md" and "index.md")
        if not found and path.startswith("docs/"):
            found = path.removeprefix("docs/")
        if found:
            return f"[{text}]({posixpath.relpath(found, posixpath.dirname(source) or '.')}{anchor})"
        if not (REPOSITORY / path).exists():
            raise PluginError(f"{source}: the link to {target} leads nowhere: there is no {path}.")
        return text if path in text else f"{text} (`{path}`)"

    parts = _FENCED.split(markdown)
    return "".join(part if place % 2 else _LINK.sub(moved, part) for place, part in enumerate(parts))
