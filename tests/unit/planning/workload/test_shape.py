import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.planning.workload.shape import published_models, shape_of


@pytest.mark.parametrize("model", published_models().values(), ids=lambda model: model.name)
def test_published_parameters_follow_the_law_that_shapes_are_interpolated_by(model):
    law = 12 * model.layers * model.hidden_size**2 + model.vocabulary * model.hidden_size
    assert law == pytest.approx(model.parameters, rel=0.14)
    assert model.source.startswith(("Narayanan", "Brown", "Touvron", "Llama Team"))
    assert model.heads % model.kv_heads == 0


@pytest.mark.parametrize("model", [m for m in published_models().values() if m.ladder], ids=lambda model: model.name)
def test_a_published_size_gets_its_published_shape(model):
    shape = shape_of(model.parameters)
    assert (shape.layers, shape.hidden_size) == (model.layers, model.hidden_size)
    assert shape.estimated


def test_an_estimated_shape_says_where_it_is_from():
    assert shape_of(7e9).reason == (
        "Shape estimated from the parameters: about 36 layers of 4096, between megatron-3.6b and megatron-7.5b; "
        "32 key-value heads are counted, fewer with grouped-query attention."
    )


@given(st.floats(1e6, 1e13), st.floats(1, 100))
def test_a_larger_model_is_never_shallower_or_narrower(parameters, times):
    small, large = shape_of(parameters), shape_of(parameters * times)
    assert small.layers <= large.layers
    assert small.hidden_size <= large.hidden_size
    assert small.heads <= large.heads
    assert small.vocabulary <= large.vocabulary


@given(st.floats(1e9, 2e12))
def test_an_estimated_shape_has_about_its_parameters(parameters):
    shape = shape_of(parameters)
    law = 12 * shape.layers * shape.hidden_size**2 + shape.vocabulary * shape.hidden_size
    assert law == pytest.approx(parameters, rel=0.15)


@given(st.floats(1, 1e14))
def test_every_number_of_parameters_has_a_shape(parameters):
    shape = shape_of(parameters)
    assert shape.layers >= 1
    assert shape.hidden_size == shape.heads * 128
