import pytest

from gpuyard.planning.workload.choices import memory_choices

from .helpers import candidate, plan


def test_the_chosen_layout_is_one_of_the_choices_with_the_same_memory():
    found = plan(task="full_finetune", parameters=13e9, clouds=["aws"])
    one = candidate(found, "p4d.24xlarge")
    choices = {(c.sharding, c.recomputation): c for c in memory_choices(found.job, one.layout, one.precision)}
    assert len(choices) == 15
    chosen = choices[one.layout.sharding, one.layout.recomputation]
    assert chosen.fits
    assert chosen.total_gib == pytest.approx(one.layout.memory.total_gib)


def test_each_stage_and_each_recomputation_needs_less():
    found = plan(task="pretrain", parameters=7e9, gpus=8, clouds=["aws"])
    one = candidate(found, "p4de.24xlarge")
    choices = {(c.sharding, c.recomputation): c for c in memory_choices(found.job, one.layout, one.precision)}
    states = [choices[sharding, "none"].state_gib for sharding in ("none", "zero1", "zero2", "zero3")]
    assert states == sorted(states, reverse=True)
    assert choices["fsdp", "none"].state_gib == states[-1]
    kept = [choices["none", recomputation].activations_gib for recomputation in ("none", "selective", "full")]
    assert kept == sorted(kept, reverse=True)


def test_7_5_b_on_64_gpus_needs_what_the_zero_paper_says():
    # Rajbhandari et al. 2020, Figure 1: 120, 31.4, 16.6 and 1.9 GB for 7.5 B parameters on 64 GPUs.
    found = plan(task="pretrain", parameters=7.5e9, gpus=64, gpu="H100", clouds=["aws"])
    one = candidate(found, "p5.48xlarge")
    assert (one.layout.data, one.layout.tensor, one.layout.pipeline) == (64, 1, 1)
    state = {c.sharding: c.state_gib * 2**30 / 1e9 for c in memory_choices(found.job, one.layout, one.precision)}
    for sharding, published_gb in {"none": 120, "zero1": 31.4, "zero2": 16.6, "zero3": 1.9}.items():
        assert state[sharding] == pytest.approx(published_gb, rel=0.02)
