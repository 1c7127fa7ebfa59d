"""``gpuyard diagram``."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gpuyard.cli.diagram import diagram
from gpuyard.spec.problems import SpecError

ROOT = Path(__file__).parents[3]

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(diagram)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "-C", str(ROOT)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def problems(*arguments: str) -> list[str]:
    with pytest.raises(SpecError) as refused:
        run(*arguments)
    return [str(problem) for problem in refused.value.problems]


def test_svg_is_printed_and_nothing_else() -> None:
    text = run("aws-prod")
    assert text == (ROOT / "docs" / "diagrams" / "aws-prod.svg").read_text(encoding="utf-8")


def test_mermaid_on_request() -> None:
    assert run("aws-dev", "--format", "mermaid").startswith("flowchart LR\n")


@pytest.mark.parametrize(("name", "begins"), [("a.svg", "<svg"), ("a.MMD", "flowchart"), ("a.mermaid", "flowchart")])
def test_the_ending_of_the_file_decides(tmp_path: Path, name: str, begins: str) -> None:
    assert run("aws-dev", "--output", str(tmp_path / name)) == ""
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)


def test_a_format_that_is_named_decides_over_the_ending(tmp_path: Path) -> None:
    run("aws-dev", "--format", "mermaid", "--output", str(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").read_text(encoding="utf-8").startswith("flowchart")


def test_wrong_input_is_refused(tmp_path: Path) -> None:
    assert problems("aws-prod", "-o", str(tmp_path / "a.png")) == [
        f"--output: '{tmp_path / 'a.png'}' does not tell a format. End it with .svg, .mmd, .mermaid, or add --format."
    ]
    assert problems("aws-prod", "--format", "dot")[0].startswith("--format: 'dot' is no format.")
    assert "Did you mean 'aws-prod'?" in problems("aws-prd")[0]
    assert list(tmp_path.iterdir()) == []


def test_a_stack_file_with_problems_is_not_drawn(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    (tmp_path / "Pulumi.a.yaml").write_text("config:\n  gpuyard:cluster: {cloud: aws}\n")
    result = CliRunner().invoke(app, ["a", "-C", str(tmp_path)])
    assert isinstance(result.exception, SpecError)
    assert any("Pulumi.a.yaml:2: gpuyard:cluster.region: is missing." in str(one) for one in result.exception.problems)
