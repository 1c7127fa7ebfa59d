"""The documentation site builds without a network, holds every page, and loads nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

import gpuyard
from gpuyard.catalog import instance_types
from gpuyard.cli.main import COMMANDS
from gpuyard.spec import ClusterSpec

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
LINES_MAX = 130
# References, in which people look up one thing, and the design.
LONG = ("aws.md", "alicloud.md", "tencentcloud.md", "design.md")
SOURCES = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # An address that nothing answers at: a build that asks the network fails here as it would without one.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [Path(sys.prefix) / "bin" / "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=REPOSITORY, env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder


class Assets(HTMLParser):
    """What a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag in SOURCES and known.get("rel") != "canonical":
            self.found.append(known.get(SOURCES[tag]) or "")


def words(site: Path, page: str) -> str:
    return re.sub(r"<[^>]+>", "", (site / page).read_text(encoding="utf-8"))


def test_a_browser_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 90
    for page in pages:
        assets = Assets()
        assets.feed(page.read_text(encoding="utf-8"))
        assert assets.found
        assert not [one for one in assets.found if re.match(r"(https?:)?//", one)], page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", style.read_text(encoding="utf-8")), style


def test_every_page_of_the_folder_is_in_the_site_and_those_of_people_in_its_navigation(site: Path) -> None:
    navigation = json.dumps(yaml.safe_load(re.sub(r"!!\S+", "", (REPOSITORY / "mkdocs.yml").read_text()))["nav"])
    for path in DOCS.rglob("*.md"):
        name = path.relative_to(DOCS).as_posix()
        page = re.sub(r"(^|/)README\.md$", r"\1index.md", name).removesuffix(".md")
        assert (site / f"{page}.html").is_file(), name
        assert f'"{name}"' in navigation or name.startswith("rules/"), f"{name} is not in the navigation"


def test_search_finds_pages_and_commands(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    locations = {entry["location"] for entry in index["docs"]}
    assert {"how-to/survive-spot.html", "rules/FAB001.html", "reference/cli.html", "changelog.html"} <= locations


def test_the_commands_page_has_every_command_and_its_options(site: Path) -> None:
    page = words(site, "reference/cli.html")
    for command in COMMANDS:
        assert f"gpuyard {command}" in page
    for option in ("--no-sandbox", "--fail-on", "--half-life-hours", "--write-baseline"):
        assert option in page


def test_the_stack_file_page_has_every_key_with_type_default_and_limits(site: Path) -> None:
    html = (site / "reference" / "stack-file.html").read_text(encoding="utf-8")
    for key in ClusterSpec.model_fields:
        assert f"<code>{key}</code>" in html
    text = " ".join(words(site, "reference/stack-file.html").split())
    assert "keep_days integer needed ≥ 1, ≤ 36 500" in text
    assert "purchase on_demand spot reserved capacity_block prepaid on_demand" in text


def test_the_components_page_has_every_component_with_its_arguments(site: Path) -> None:
    page = words(site, "reference/components.html")
    for name in gpuyard.__all__:
        if f"{name}Args" in gpuyard.__all__:
            assert f"{name}Args" in page
    for text in ("Private subnets of the pool, one for each of its zones", "Address below which checkpoints belong"):
        assert text in page


def test_the_catalog_page_counts_the_rows(site: Path) -> None:
    assert f"{len(instance_types('aws'))} rows." in words(site, "reference/catalog.html")


def test_links_to_the_repository_become_pages_or_paths(site: Path) -> None:
    html = (site / "how-to" / "adopt-what-exists.html").read_text(encoding="utf-8")
    assert 'href="../examples/adopt-existing.html"' in html
    assert 'href="contributing.html"' in (site / "index.html").read_text(encoding="utf-8")
    assert ".github/workflows/gpuyard-check.yml" in words(site, "check.html")


def test_links_of_pages_lead_somewhere_in_the_repository_too() -> None:
    """The site checks its own links; readers of the repository follow the same ones as files."""
    for path in [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if ":" not in target:
                assert (path.parent / target).exists(), f"{path.relative_to(REPOSITORY)}: {target}"


def test_pages_are_short() -> None:
    for path in DOCS.rglob("*.md"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= LINES_MAX or path.name in LONG, f"{path.relative_to(DOCS)} has {lines} lines"


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path) -> None:
    """Otherwise the tests above would say nothing of links."""
    code = (
        f"import sys; sys.path.insert(0, {str(DOCS / 'tooling')!r})\n"
        "import hooks; from types import SimpleNamespace as N; "
        "hooks.on_page_markdown('[x](../nowhere.md)', N(file=N(src_uri='index.md')), {}, None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "index.md: the link to ../nowhere.md leads nowhere: there is no nowhere.md." in done.stderr
