import pytest

from gpuyard.spec.problems import Problem, SpecError, did_you_mean, dotted, first_of, nearest, one_of


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ((), ""),
        (("region",), "region"),
        (("node_pools", "train", "gpu"), "node_pools.train.gpu"),
        (("access", "ssh_from", 1), "access.ssh_from[1]"),
        (("a", 0, "b"), "a[0].b"),
    ],
)
def test_a_path_is_written_as_people_write_it(path: tuple[str | int, ...], written: str):
    assert dotted(path) == written


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem((), "is wrong."), "is wrong."),
        (Problem(("a", "b"), "is wrong."), "a.b: is wrong."),
        (Problem(("a",), "is wrong.", "Mend it."), "a: is wrong. Mend it."),
        (Problem(("a",), "is wrong.", file="stack.yaml", line=7), "stack.yaml:7: a: is wrong."),
        (Problem(("a",), "is wrong.", file="stack.yaml"), "stack.yaml: a: is wrong."),
    ],
)
def test_a_problem_reads_place_then_path_then_message_then_remedy(problem: Problem, text: str):
    assert str(problem) == text


def test_at_adds_the_place_and_keeps_the_rest():
    problem = Problem(("a",), "is wrong.", "Mend it.")
    assert problem.at("stack.yaml", 3) == Problem(("a",), "is wrong.", "Mend it.", "stack.yaml", 3)
    assert problem.line is None


def test_an_error_lists_every_problem_on_its_own_line():
    error = SpecError(Problem((key,), "is wrong.") for key in ("a", "b"))
    assert str(error) == "a: is wrong.\nb: is wrong."
    assert [problem.path for problem in error.problems] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("given", "known", "hint"),
    [
        ("regoin", ["region", "zone"], "Did you mean 'region'?"),
        ("a100-80gb", ["A100-80GB"], "Did you mean 'A100-80GB'?"),
        ("zzz", ["region", "zone"], ""),
        (None, ["region"], ""),
        ("region", [], ""),
    ],
)
def test_did_you_mean_names_the_nearest_and_nothing_far(given: object, known: list[str], hint: str):
    assert did_you_mean(given, known) == hint


@pytest.mark.parametrize(
    ("known", "text"), [([], "none"), (["a"], "a"), (["a", "b"], "a or b"), ([1, 2, 3], "1, 2 or 3"), ([1200], "1200")]
)
def test_one_of_lists_as_people_do(known: list[object], text: str):
    assert one_of(known) == text


@pytest.mark.parametrize(
    ("names", "most", "text"),
    [
        ([], 8, "none"),
        (["a"], 8, "a"),
        (["a", "b"], 2, "a, b"),
        (["a", "b", "c"], 2, "a, b and 1 more"),
        ([str(number) for number in range(20)], 8, "0, 1, 2, 3, 4, 5, 6, 7 and 12 more"),
    ],
)
def test_a_long_list_is_cut_and_says_how_much_is_left_out(names: list[str], most: int, text: str):
    assert first_of(names, most) == text


@pytest.mark.parametrize(("given", "found"), [("regoin", "region"), ("REGION", "region"), ("zzz", None), ("", None)])
def test_the_nearest_name_is_near(given: str, found: str | None):
    assert nearest(given, ["region", "zone"]) == found
    assert nearest(given, []) is None
