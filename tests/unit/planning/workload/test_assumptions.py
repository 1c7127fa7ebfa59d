import gpuyard.planning.workload.assumptions as module
from gpuyard.planning.workload import all_assumptions


def test_every_assumption_can_be_shown_with_its_unit_meaning_and_source():
    found = all_assumptions()
    assert found["utilization"] is module.UTILIZATION
    assert len(found) == sum(isinstance(value, module.Assumption) for value in vars(module).values())
    for assumption in found.values():
        assert assumption.unit
        assert assumption.meaning
        assert len(assumption.source) > 10
