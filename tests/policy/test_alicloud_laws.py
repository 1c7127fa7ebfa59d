"""What holds of Alibaba Cloud facts for every graph: nothing raises, and time is linear."""

from __future__ import annotations

import inspect
import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_policy.facts import (
    Record,
    Unknown,
    alicloud_access,
    alicloud_buckets,
    alicloud_disks,
    alicloud_file_systems,
    alicloud_interruption,
    alicloud_machines,
    alicloud_network,
    alicloud_operations,
    alicloud_places,
    alicloud_policies,
    alicloud_pools,
    alicloud_snapshots,
    collect_facts,
)
from tests.policy.alicloud_programs import ATTACHMENT, BUCKET, BUCKET_POLICY, DISK, POLICY, made, node

MODULES = (
    alicloud_access,
    alicloud_buckets,
    alicloud_disks,
    alicloud_file_systems,
    alicloud_interruption,
    alicloud_machines,
    alicloud_network,
    alicloud_operations,
    alicloud_places,
    alicloud_policies,
    alicloud_pools,
    alicloud_snapshots,
)
SOURCE = "\n".join(inspect.getsource(module) for module in MODULES)
# Every type and every word that a reader asks for, taken from the readers themselves.
TOKENS = sorted(set(re.findall(r'"(alicloud:[\w/:]+)"', SOURCE)))
KEYS = sorted(set(re.findall(r'"(\w{2,40})"', SOURCE)))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "4", "1/65535", "*", "0.0.0.0/0", "::/0", "10.0.0.0/8", "cn-beijing-i", "SCALE_IN"]),
    st.sampled_from(["Allow", "System", "ingress", "all", "normal", "SpotAsPriceGo", '{"Statement": [1]}', "[]"]),
    st.builds(Unknown, st.just("later")),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
PROPS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=12)


@st.composite
def graphs(draw: st.DrawFn) -> list[Record]:
    kinds = draw(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=8))
    urns = [f"urn:pulumi:s::p::{kind}::r{place}" for place, kind in enumerate(kinds)]
    links = st.dictionaries(st.sampled_from(KEYS), st.lists(st.sampled_from(urns), max_size=3), max_size=4)
    return [
        Record(urn, kind, f"r{place}", draw(PROPS), draw(links), draw(st.sampled_from([{}, {"region": "cn-beijing"}])))
        for place, (urn, kind) in enumerate(zip(urns, kinds, strict=True))
    ]


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_no_graph_makes_a_reader_raise(graph: list[Record]) -> None:
    facts = collect_facts(graph)
    assert facts.problems == ()
    assert facts.judged == len(graph)


def _stack(count: int) -> list[Record]:
    found: list[Record] = []
    for place in range(count // 6):
        disk, policy = made(DISK, f"d{place}", {"encrypted": True}), made(POLICY, f"s{place}", {})
        found += [
            disk,
            policy,
            made(ATTACHMENT, f"a{place}", {}, diskId=disk, autoSnapshotPolicyId=policy),
            made(BUCKET, f"b{place}", {"bucket": f"b{place}"}),
            made(BUCKET_POLICY, f"p{place}", {"bucket": f"b{place}", "policy": "{}"}),
            Record(f"urn:pulumi:s::p::i::{place}", node().type, f"i{place}", node().props),
        ]
    return found


def _seconds(records: list[Record]) -> float:
    start = time.process_time()
    facts = collect_facts(records)
    assert len(facts.node_pools) == len(records) // 6
    return time.process_time() - start


def test_ten_times_the_resources_take_about_ten_times_as_long() -> None:
    small, large = _stack(600), _stack(6000)
    least = min(_seconds(small) for _ in range(3))
    # A scan of all resources for each would take a hundred times as long.
    assert min(_seconds(large) for _ in range(2)) < 40 * max(least, 0.005)
