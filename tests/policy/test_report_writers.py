"""Every format tells the same findings, the worst first, and no text of a program breaks one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from gpuyard.catalog.prices import PriceBook, PriceQuote
from gpuyard_policy.costs import pool_costs
from gpuyard_policy.facts import NodePoolFact, StorageFact, Unknown
from gpuyard_policy.facts.model import Facts
from gpuyard_policy.report import StackReport, exit_code
from gpuyard_policy.report.html import html_text
from gpuyard_policy.report.json_report import json_text
from gpuyard_policy.report.junit import junit_text
from gpuyard_policy.report.markdown import MARKER, markdown_text
from gpuyard_policy.report.model import summary
from gpuyard_policy.report.picture import picture
from gpuyard_policy.report.sarif import sarif_text
from gpuyard_policy.report.terminal import terminal_text
from gpuyard_policy.rules.rule import Finding, Verdict
from gpuyard_policy.sources import Place
from tests.policy.programs import report, urn

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
DAY = "2026-12-01"
FINDINGS = (
    Finding("STO001", Verdict.PASS, urn("fine"), "in us-east-1, as the nodes.", "mandatory"),
    Finding("STO001", Verdict.SUPPRESSED, urn("old"), "is elsewhere.", "mandatory", "moves next month, ticket 12"),
    Finding("FAB001", Verdict.UNDECIDED, None, "no work is known for 2 pool(s) (a, b).", "mandatory"),
    Finding("STO001", Verdict.FAIL, urn("data"), "bucket 'data' is in eu-west-1.", "advisory"),
    Finding("FAB001", Verdict.FAIL, urn("train"), "pool 'train' is joined by PCIe only.", "mandatory"),
    Finding("FAB001", Verdict.FAIL, urn("train"), "pool 'train' has another fault.", "mandatory"),
)
WHOLE = report(FINDINGS, notes=("careful",))
ERROR = Finding("FAB001", Verdict.ERROR, None, "the rule itself broke: KeyError: 'x'", "mandatory")
UNJUDGED = StackReport("aws-dev", problems=("stacks/Pulumi.aws-dev.yaml:3: region: is missing.",))
EMPTY = PriceBook(())


def sarif(*reports: StackReport) -> Any:
    log = json.loads(sarif_text(reports, "mandatory"))
    Draft4Validator(SCHEMA).validate(log)
    return log["runs"][0]


def texts(reports: list[StackReport]) -> list[str]:
    return [
        terminal_text(reports, "mandatory", width=100, color=False),
        markdown_text(reports, "mandatory"),
        html_text(reports, "mandatory", EMPTY, DAY),
        json_text(reports, "mandatory"),
        sarif_text(reports, "mandatory"),
        junit_text(reports, "mandatory"),
    ]


def test_the_order_is_worst_first_whatever_order_the_rules_were_asked_in() -> None:
    expected = [(one.verdict, one.level, one.urn, one.message) for one in WHOLE.findings()]
    assert [verdict for verdict, *_ in expected] == [
        Verdict.FAIL,
        Verdict.FAIL,
        Verdict.FAIL,
        Verdict.UNDECIDED,
        Verdict.SUPPRESSED,
        Verdict.PASS,
    ]
    assert [level for _, level, *_ in expected[:3]] == ["mandatory", "mandatory", "advisory"]
    assert texts([WHOLE]) == texts([report(tuple(reversed(FINDINGS)), notes=("careful",))])


@pytest.mark.parametrize(
    ("reports", "fail_on", "code"),
    [
        ([report(FINDINGS[:1])], "advisory", 0),
        ([report(FINDINGS[:3])], "advisory", 0),
        ([report([FINDINGS[3]])], "mandatory", 0),
        ([report([FINDINGS[3]])], "advisory", 1),
        ([report([FINDINGS[4]])], "mandatory", 1),
        ([report([FINDINGS[4]]), UNJUDGED], "mandatory", 2),
        ([report([ERROR]), UNJUDGED], "mandatory", 3),
        ([replace(UNJUDGED, broken=True)], "mandatory", 3),
        ([], "mandatory", 2),
    ],
)
def test_exit_codes(reports: list[StackReport], fail_on: Any, code: int) -> None:
    assert exit_code(reports, fail_on) == code


def test_what_stays_undecided_fails_only_where_nothing_more_will_be_known_and_the_setting_says_so() -> None:
    undecided = [FINDINGS[2]]
    assert exit_code([report(undecided)], "mandatory") == 0
    assert exit_code([report(undecided, final=True)], "mandatory") == 1
    assert exit_code([report(undecided, final=True, strict=False)], "mandatory") == 0
    assert exit_code([report([replace(undecided[0], level="advisory")], final=True)], "mandatory") == 0


def test_the_terminal_shows_findings_with_place_and_reason() -> None:
    text = terminal_text([WHOLE, UNJUDGED], "mandatory", width=200, color=False)
    assert "aws-prod: profile prod, 5 resources, 2 rules: 3 failed, 1 undecided, 1 suppressed, 1 passed" in text
    assert "✗ FAB001 mandatory pool 'train' is joined by PCIe only." in text
    assert "infra/__main__.py:7  train" in text
    assert "? FAB001 undecided (mandatory) no work is known" in text
    assert "accepted: moves next month, ticket 12" in text
    assert "aws-dev: could not be judged" in text
    assert "! stacks/Pulumi.aws-dev.yaml:3: region: is missing." in text
    assert text.splitlines()[-1] == "2 findings in 2 stacks at or above 'mandatory', 1 could not be judged."
    assert "\x1b[" not in text
    assert "\x1b[" in terminal_text([WHOLE], "mandatory", width=100, color=True)


def test_the_terminal_shows_the_first_of_many_undecided_and_counts_the_rest() -> None:
    many = [Finding("STO001", Verdict.UNDECIDED, urn(str(number)), f"why {number}.") for number in range(9)]
    text = terminal_text([report(many)], "mandatory", width=100, color=False)
    assert text.count("cannot tell") + text.count("why ") == 3
    assert "? STO001: 6 more undecided; --format json lists them." in text


def test_json_holds_everything() -> None:
    data = json.loads(json_text([WHOLE, UNJUDGED], "mandatory"))
    assert (data["version"], data["exit_code"], data["fail_on"]) == (1, 2, "mandatory")
    whole, unjudged = data["stacks"]
    assert whole["counts"] == {"pass": 1, "fail": 3, "undecided": 1, "suppressed": 1, "error": 0}
    assert [one["blocks"] for one in whole["findings"]] == [True, True, False, False, False, False]
    assert whole["findings"][0] == {
        "rule": "FAB001",
        "name": "multi-gpu-training-needs-nvlink",
        "severity": "high",
        "level": "mandatory",
        "verdict": "fail",
        "blocks": True,
        "resource": "train",
        "urn": urn("train"),
        "message": "pool 'train' has another fault.",
        "reason": None,
        "file": "infra/__main__.py",
        "line": 7,
    }
    assert unjudged["problems"] == ["stacks/Pulumi.aws-dev.yaml:3: region: is missing."]


def test_br_098_sarif_is_valid_and_counts_what_the_other_reports_count() -> None:
    run = sarif(WHOLE)
    results = run["results"]
    assert [(one["kind"], one["level"]) for one in results] == [
        ("fail", "error"),
        ("fail", "error"),
        ("fail", "warning"),
        ("open", "none"),
        ("fail", "error"),
    ]
    assert [one["id"] for one in run["tool"]["driver"]["rules"]] == ["FAB001", "STO001"]
    assert all(run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"] for one in results)
    assert results[-1]["suppressions"][0]["justification"] == "moves next month, ticket 12"
    first = results[0]["locations"][0]
    assert first["logicalLocations"] == [{"fullyQualifiedName": urn("train"), "name": "train", "kind": "resource"}]
    assert first["physicalLocation"]["artifactLocation"] == {"uri": "infra/__main__.py", "uriBaseId": "%SRCROOT%"}
    assert first["physicalLocation"]["region"] == {"startLine": 7}
    stack = results[3]["locations"][0]
    assert "logicalLocations" not in stack
    assert stack["physicalLocation"]["region"] == {"startLine": 3}
    assert len({one["partialFingerprints"]["gpuyard/v1"] for one in results}) == len(results)
    assert run["invocations"][0] == {"executionSuccessful": True, "exitCode": 1}


def test_sarif_tells_errors_of_rules_and_stacks_as_notifications_not_as_results() -> None:
    run = sarif(report([ERROR]), UNJUDGED)
    assert run["results"] == []
    invocation = run["invocations"][0]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 3)
    told = invocation["toolExecutionNotifications"]
    assert told[0]["message"]["text"] == "aws-dev: stacks/Pulumi.aws-dev.yaml:3: region: is missing."
    assert told[1]["associatedRule"] == {"id": "FAB001"}


def test_sarif_names_a_file_elsewhere_by_its_whole_address(tmp_path: Path) -> None:
    away = replace(WHOLE, place=Place(str(tmp_path / "my plan.json"), 1), places={})
    location = sarif(away)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location["uri"].startswith("file:///")
    assert location["uri"].endswith("my%20plan.json")
    assert "uriBaseId" not in location


def test_br_098_junit_has_one_case_for_each_rule_and_resource() -> None:
    suite = Xml.fromstring(junit_text([WHOLE], "mandatory"))[0]
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "aws-prod",
        "tests": "5",
        "failures": "1",
        "errors": "0",
        "skipped": "3",
    }
    cases = {(case.get("classname"), case.get("name")): case for case in suite}
    assert len(cases) == len(suite)
    train = cases[("FAB001.multi-gpu-training-needs-nvlink", "train")]
    assert (train.get("file"), train.get("line")) == ("infra/__main__.py", "7")
    failure = train.find("failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.splitlines() == [urn("train"), "pool 'train' has another fault.", FINDINGS[4].message]
    skipped = {name: case.find("skipped") for (_, name), case in cases.items()}
    assert skipped["fine"] is None
    told = {name: found.get("message") for name, found in skipped.items() if found is not None}
    assert told == {
        "data": "advisory: bucket 'data' is in eu-west-1.",
        "the stack": "undecided: no work is known for 2 pool(s) (a, b).",
        "old": "suppressed: is elsewhere. (moves next month, ticket 12)",
    }
    strict = Xml.fromstring(junit_text([WHOLE], "advisory"))[0]
    assert strict.get("failures") == "2"


def test_junit_tells_errors() -> None:
    suites = Xml.fromstring(junit_text([report([ERROR]), UNJUDGED], "mandatory"))
    assert [suite.get("errors") for suite in suites] == ["1", "1"]


def test_markdown_is_short_worst_first_and_folds_the_rest() -> None:
    text = markdown_text([WHOLE, UNJUDGED], "mandatory")
    lines = text.splitlines()
    assert lines[0] == MARKER
    assert lines[1].startswith("### ⚠️ gpuyard check: 2 findings in 2 stacks")
    assert markdown_text([WHOLE], "mandatory").splitlines()[1].startswith("### ❌")
    assert markdown_text([report(FINDINGS[:1])], "mandatory").splitlines()[1].startswith("### ✅")
    worst = text.index("another fault")
    assert worst < text.index("<details><summary>1 advisory</summary>") < text.index("1 cannot be told yet")
    assert (
        text.index("1 cannot be told yet</summary>")
        < text.index("1 suppressed</summary>")
        < text.index("1 note</summary>")
    )
    assert "at `infra/__main__.py:7`" in text
    assert "as the nodes" not in text, "what passed is not worth a comment"
    assert "- ⚠️ stacks/Pulumi.aws-dev.yaml:3: region: is missing." in text


def test_markdown_fits_into_a_comment_and_leaves_no_part_open() -> None:
    many = [Finding("STO001", Verdict.FAIL, urn(str(n)), "x" * 400, "mandatory") for n in range(200)]
    reports = [report(many, name=f"stack-{number}") for number in range(9)]
    text = markdown_text(reports, "mandatory")
    assert len(text) < 65_536
    assert text.count("<details>") == text.count("</details>") > 0
    assert "does not fit into a comment" in text
    assert "- 140 more: `gpuyard check --format json` lists all" in text, "of 200, 10 are shown and 50 folded"


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.data.append(data)


def page(text: str) -> _Page:
    parsed = _Page()
    parsed.feed(text)
    return parsed


POOL = NodePoolFact(
    urn("train"), "train-group", "aws", ("p4de.24xlarge",), 4, "us-east-1", {}, nodes_min=2, zones=("us-east-1d",),
    purchase="on_demand", placement="close", rdma_interfaces=4,
)  # fmt: skip
LATER = Unknown("later")
FACTS = Facts(
    node_pools=(
        POOL,
        replace(POOL, urn=urn("big"), name="b" * 60, nodes_max=20, zones=(), purchase="spot", rdma_interfaces=0),
        replace(POOL, urn=urn("late"), name="late", instance_types=LATER, nodes_max=LATER, region=LATER, zones=LATER),
    ),
    storage=(
        StorageFact(
            urn("fs"), "lustre", "aws", "file system", "us-east-1", False, {}, encrypted=True, protected=True,
            zone="us-east-1d", parallel=True, scratch=False, throughput_mb_per_s=6000,
        ),
        StorageFact(urn("copy"), "copy", "aws", "bucket", "us-west-2", True, {}, encrypted=False, public=True),
    ),
)  # fmt: skip


def test_the_picture_shows_regions_zones_pools_and_stores() -> None:
    svg = picture(FACTS, {urn("train"): "failed", urn("copy"): "advisory"})
    root = Xml.fromstring(svg)
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for word in (
        "aws · us-east-1",
        "aws · us-west-2",
        "aws · a region that cannot be told yet",
        "us-east-1d",
        "any zone",
    ):
        assert word in words, word
    assert "p4de.24xlarge" in words
    assert "2 to 4 nodes" in words
    assert "+12" in words, "of 20 nodes 8 are drawn"
    assert "on demand · RDMA · together" in words
    assert "machines cannot be told yet" in words
    assert "parallel file system" in words
    assert "6,000 MB/s" in words
    assert "not encrypted · PUBLIC" in words
    cards = [element.get("class") for element in root.iter("{http://www.w3.org/2000/svg}g") if element.get("class")]
    assert sorted(str(one) for one in cards) == ["card advisory", "card failed", *["card fine"] * 3]
    assert svg.count('class="gpu"') == 4 * 8 + 8 * 8
    assert svg.count('class="rdma"') == 1
    assert words.index("aws · us-east-1") < words.index("aws · us-west-2"), "the region with the most comes first"
    assert picture(Facts(), {}) == ""


def test_the_picture_stays_inside_its_frame() -> None:
    crowd = Facts(node_pools=tuple(replace(POOL, urn=urn(str(n)), name=f"pool-{n}") for n in range(11)))
    root = Xml.fromstring(picture(crowd, {}))
    _, _, width, height = map(float, (root.get("viewBox") or "").split())

    def inside(element: Xml.Element, x: float, y: float) -> None:
        moved = re.match(r"translate\((\S+) (\S+)\)", element.get("transform", ""))
        x, y = (x + float(moved[1]), y + float(moved[2])) if moved else (x, y)
        if element.tag.endswith("rect"):
            right = x + float(element.get("x", 0)) + float(element.get("width", 0))
            bottom = y + float(element.get("y", 0)) + float(element.get("height", 0))
            assert right <= width, (right, width)
            assert bottom <= height, (bottom, height)
        for child in element:
            inside(child, x, y)

    inside(root, 0, 0)


def test_the_page_holds_picture_findings_and_cost_and_needs_nothing_else() -> None:
    quote = PriceQuote("aws", "p4de.24xlarge", "us-east-1", "hour", 10.0, None, None, "USD", "2026-11-01", "test")
    text = html_text([report(FINDINGS, facts=FACTS), UNJUDGED], "mandatory", PriceBook((quote,)), DAY)
    found = page(text)
    assert [tag for tag, _ in found.tags].count("svg") == 1
    articles = [attributes["class"] for tag, attributes in found.tags if tag == "article"]
    assert articles == [
        "finding failed",
        "finding failed",
        "finding advisory",
        "finding undecided",
        "finding suppressed",
        "finding passed",
    ]
    shown = " ".join(" ".join(found.data).split())
    assert "USD 14,600" in shown, "2 nodes x 730 h x USD 10"
    assert "USD 29,200" in shown
    assert "the price book has no spot price of p4de.24xlarge in us-east-1" in shown
    assert "stacks/Pulumi.aws-dev.yaml:3: region: is missing." in shown
    assert not re.search(r"(src|href)\s*=|url\(|@import|<script|<link", text), "the page must need nothing else"


def test_a_cost_that_is_not_known_says_why_and_is_no_nought() -> None:
    quotes = (
        PriceQuote("aws", "a", "us-east-1", "hour", 1.0, 0.5, None, "USD", "2026-11-01", "test"),
        PriceQuote("aws", "b", "us-east-1", "hour", 3.0, 0.8, None, "USD", "2026-01", "test"),
        PriceQuote("aws", "c", "us-east-1", "hour", 3.0, None, None, "CNY", None, "test"),
        PriceQuote("aws", "d", "us-east-1", "month", 100.0, None, None, "USD", None, "test"),
    )
    pools = [
        replace(POOL, instance_types=("a", "b"), purchase="spot", nodes_min=1, nodes_max=10),
        replace(POOL, instance_types=("a", "c")),
        replace(POOL, instance_types=LATER),
        replace(POOL, instance_types=()),
        replace(POOL, instance_types=("a",), purchase="reserved"),
        replace(POOL, instance_types=("a",), nodes_max=LATER, nodes_min=LATER),
        replace(POOL, instance_types=("d",), nodes_max=2),
    ]
    found = pool_costs(pools, PriceBook(quotes))
    assert (found[0].least, found[0].most, found[0].currency) == (365.0, 5840.0, "USD")
    assert found[0].why == "spot list price of 2026-01, 730 hours, machines alone"
    assert [(one.least, one.most) for one in found[1:6]] == [(None, None)] * 5
    assert [one.why for one in found[1:5]] == [
        "its prices are of several currencies",
        "its machines cannot be told: later",
        "it names no machines",
        "the price book has no one-year price of a in us-east-1",
    ]
    assert (found[6].least, found[6].most) == (200.0, 200.0)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium here: apt-get install chromium")
def test_headless_chromium_shows_the_page(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(html_text([report(FINDINGS, facts=FACTS)], "mandatory", PriceBook.load(), DAY), encoding="utf-8")
    picture_file = tmp_path / "page.png"
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    dump = subprocess.run(
        [*command, "--enable-logging=stderr", "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120
    )
    assert dump.returncode == 0, dump.stderr
    assert "CONSOLE" not in dump.stderr, dump.stderr
    shown = page(dump.stdout)
    assert [tag for tag, _ in shown.tags].count("article") == len(FINDINGS)
    assert [attributes.get("class") for tag, attributes in shown.tags if tag == "g"].count("card failed") == 1
    subprocess.run(
        [*command, f"--screenshot={picture_file}", file.as_uri()], capture_output=True, timeout=120, check=True
    )
    assert picture_file.stat().st_size > 10_000


ODD = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["<script>alert(1)</script>", "]]>", "{{ 7 * 7 }}", "| a | b |", "@everyone", "\x00\x1b[31m", "`x`",
                     "</details>", "a\nb", "[bold]x[/bold]", "&amp;", "<!-- gpuyard check -->"]),
)  # fmt: skip
ODD_FINDINGS = st.builds(
    Finding,
    rule_id=st.sampled_from(["FAB001", "STO001", "SET001"]),
    verdict=st.sampled_from(list(Verdict)),
    urn=st.one_of(st.none(), ODD.map(urn)),
    message=ODD,
    level=st.sampled_from(["advisory", "mandatory"]),
    reason=st.one_of(st.none(), ODD),
)


@settings(max_examples=40)
@given(st.lists(ODD_FINDINGS, max_size=5), ODD, ODD)
def test_no_text_of_a_program_breaks_a_report(findings: list[Finding], name: str, note: str) -> None:
    facts = replace(FACTS, node_pools=(replace(POOL, name=name),))
    made = report(findings, name=name, facts=facts, notes=(note,))
    run = sarif(made)
    counted = sum(one.verdict in (Verdict.FAIL, Verdict.UNDECIDED, Verdict.SUPPRESSED) for one in findings)
    assert len(run["results"]) == counted
    suite = Xml.fromstring(junit_text([made], "mandatory"))[0]
    assert len(suite) == len({(one.rule_id, one.urn or "") for one in findings})
    assert json.loads(json_text([made], "mandatory"))["stacks"][0]["stack"] == name
    tags = [tag for tag, _ in page(html_text([made], "mandatory", EMPTY, DAY)).tags]
    assert "script" not in tags
    assert tags.count("article") == len(findings)
    text = markdown_text([made], "mandatory")
    assert "<script" not in text
    assert text.count("<details>") == text.count("</details>")
    assert text.count(MARKER) == 1
    shown = terminal_text([made], "mandatory", width=90, color=False)
    assert "\x1b" not in shown
    assert summary([made], "mandatory") in " ".join(shown.split())
