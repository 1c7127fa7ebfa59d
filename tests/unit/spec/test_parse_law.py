"""Whatever a file holds, it is either a cluster description or a list of problems; never another error."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from gpuyard.spec import ClusterSpec, SpecError, parse_spec
from gpuyard.spec.parse import parse_what_is_right

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["aws", "us-east-1", "dev", "rdma", "8", "true", "70e9", "10.0.0.0/8", "lora", "A10", "spot"])
)
OTHER_KEYS = st.text(max_size=8) | st.sampled_from(["[key]", "gpu", "nodes"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(OTHER_KEYS, inner, max_size=3),
    max_leaves=12,
)
POOL_NAMES = st.sampled_from(["train", "prep", "a", "A", "", "x-1", "gpu", "nodes", "[key]"])


def part(model: type[BaseModel], **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mappings with a model's own keys, each right or anything at all, and one more key."""
    keys = {name: known.get(name, JSON) | JSON for name in model.model_fields}
    return st.fixed_dictionaries({}, optional={**keys, "other": JSON}) | JSON


def clusters() -> st.SearchStrategy[Any]:
    fields = ClusterSpec.model_fields
    pool = part(_model_of(fields["node_pools"].annotation), nodes=st.integers(-1, 5), gpu=st.just("A10"))
    inner = {
        name: part(found)
        for name, field in fields.items()
        if name != "node_pools" and (found := _model_of(field.annotation, missing_is_right=True)) is not None
    }
    right = {"cloud": st.just("aws"), "region": st.just("us-east-1"), "environment": st.just("dev")}
    return part(ClusterSpec, node_pools=st.dictionaries(POOL_NAMES, pool, max_size=3), **inner, **right)


def _model_of(annotation: Any, *, missing_is_right: bool = False) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [
        model for inner in getattr(annotation, "__args__", ()) if (model := _model_of(inner, missing_is_right=True))
    ]
    assert found or missing_is_right
    return found[0] if found else None


def _judge(data: Any) -> None:
    try:
        spec = parse_spec(ClusterSpec, data)
    except SpecError as error:
        assert error.problems
        assert all(problem.message for problem in error.problems)
        assert str(error)
    else:
        assert parse_spec(ClusterSpec, spec.model_dump()) == spec


@given(JSON)
@settings(max_examples=200, deadline=None)
def test_anything_is_parsed_or_refused_with_problems(data: Any):
    _judge(data)


@given(clusters())
@settings(max_examples=400, deadline=None)
def test_anything_like_a_cluster_is_parsed_or_refused_with_problems(data: Any):
    _judge(data)


@given(clusters())
@settings(max_examples=200, deadline=None)
def test_leaving_out_what_is_wrong_never_hides_a_problem(data: Any):
    spec, problems = parse_what_is_right(ClusterSpec, data)
    assert spec is not None or problems
    try:
        whole = parse_spec(ClusterSpec, data)
    except SpecError as error:
        assert problems == list(error.problems)
    else:
        assert (spec, problems) == (whole, [])
