import pytest

from gpuyard.planning.workload.cold_start import cold_start
from gpuyard.planning.workload.memory import GB


def test_the_budget_is_split_into_pull_load_and_warm_up():
    start = cold_start(8 * GB, 14 * GB, network_gbps=10)
    assert start.pull_s == pytest.approx(8 / (10 / 8 * 0.7))
    assert start.load_s == pytest.approx(14 / (10 / 8 * 0.7))
    assert start.warm_up_s == 20
    assert start.total_s == pytest.approx(start.pull_s + start.load_s + 20)
    assert start.meets is True
    assert start.reasons == ("Cold start: pull 8.0 GB in 9 s, load 14.0 GB in 16 s, warm-up 20 s; 45 of 90 s.",)


def test_a_slow_network_misses_the_budget_and_says_what_helps():
    start = cold_start(8 * GB, 14 * GB, network_gbps=1.5)
    assert start.meets is False
    assert start.reasons[1].startswith("That needs 314 MB/s, the network gives 131: put the container image into ")


def test_an_unknown_network_is_neither_yes_nor_no():
    start = cold_start(8 * GB, 14 * GB, network_gbps=None)
    assert start.meets is None
    assert start.total_s == pytest.approx(90)
    assert start.reasons[1] == "The network is unknown; it must carry 314 MB/s."
