"""Every type of the catalog in every region: a plan or problems, never an error, and no plan that breaks a rule."""

import pytest

from gpuyard.catalog import instance_types, regions, zone_belongs_to
from gpuyard.catalog.regions import zone_id_prefix
from gpuyard.planning.node_pools import plan_node_pool
from gpuyard.planning.plans import Place
from gpuyard.spec import NodePoolSpec, parse_spec

ZONES = [zone for region in regions("aws") for zone in (f"{region}a", f"{zone_id_prefix(region)}-az1")]


@pytest.mark.parametrize("zone", ZONES)
def test_every_type_has_a_plan_or_problems(zone: str):
    region = next(region for region in regions("aws") if zone_belongs_to(zone, region))
    place = Place("aws", region, "dev", zone=zone)
    for row in instance_types("aws").values():
        for interconnect in ("none", "rdma"):
            values = {"instance_type": row.instance_type, "nodes": 2, "interconnect": interconnect, "image": "ami-1"}
            plan, problems = plan_node_pool("train", parse_spec(NodePoolSpec, values), place)
            assert (plan is None) is bool(problems)
            if plan is None:
                continue
            assert row.offered_in(region) is not False
            assert plan.instance_types == (row,)
            assert plan.addresses_per_node == 1
            assert (len(plan.interfaces) > 1) is (interconnect == "rdma")


def test_a_type_is_refused_where_it_is_not_offered():
    refused = 0
    for row in instance_types("aws").values():
        for region in regions("aws"):
            if row.offered_in(region) is not False:
                continue
            spec = parse_spec(NodePoolSpec, {"instance_type": row.instance_type, "nodes": 1, "image": "ami-1"})
            _, problems = plan_node_pool("train", spec, Place("aws", region, "dev", zone=f"{region}a"))
            assert any("is not offered in" in problem.message for problem in problems)
            refused += 1
    assert refused > 1000
