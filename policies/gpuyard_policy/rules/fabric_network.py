"""Rules about what joins the nodes of one job."""

from collections.abc import Iterable

from gpuyard.catalog import InstanceType
from gpuyard.catalog.regions import is_zone_id
from gpuyard_policy.facts import NodePoolFact
from gpuyard_policy.facts.model import SecurityGroupFact, Unknown
from gpuyard_policy.rules.judging import (
    Answer,
    CannotTellError,
    better_type,
    each,
    failed,
    fault_of,
    is_alone,
    is_one_job_on_several_nodes,
    known,
    nodes_max_of,
    on_pools,
    parameters_of,
    passed,
    stated,
    types_of,
)
from gpuyard_policy.rules.rule import Context, Finding, Rule, Threshold, everywhere, stricter

# RDMA that passes through a cloud's ordinary network, its security groups and its placement. The others have a network
# of their own that joins the members of a cluster.
_IN_THE_NETWORK = ("efa", "erdma")
_ALONE = "one node, or nodes with a job each."


def _judge_rdma_type(context: Context, pool: NodePoolFact) -> Answer:
    if not is_one_job_on_several_nodes(context, pool):
        return passed(_ALONE)

    def fault(row: InstanceType) -> str | None:
        return None if stated(row.has_rdma, row, "the RDMA network") else row.instance_type

    found = fault_of(pool, fault)
    if found is None:
        return passed(f"{', '.join(types_of(pool))}: with RDMA.")
    return failed(
        f"pool '{pool.name}' spreads one job over up to {nodes_max_of(pool)} × {found}, which has no RDMA: gradients "
        f"would pass through the kernel of every node. Use a type with RDMA{better_type(pool.cloud, _has_rdma)}."
    )


def _rdma_of(pool: NodePoolFact) -> str | None:
    """The kind of RDMA that machines of a pool can do; None where none can."""
    return fault_of(pool, lambda row: row.rdma if stated(row.has_rdma, row, "the RDMA network") else None)


def _has_rdma(row: InstanceType) -> bool:
    return row.has_rdma is True and row.has_nvlink is True


def _judge_rdma_on(context: Context, pool: NodePoolFact) -> Answer:
    if not is_one_job_on_several_nodes(context, pool):
        return passed(_ALONE)
    capable = _rdma_of(pool)
    if capable is None:
        return passed("its machines have no RDMA to switch on.")
    interfaces = known(pool.rdma_interfaces, f"whether RDMA is switched on for pool '{pool.name}'")
    if interfaces:
        return passed(f"{interfaces} RDMA interface(s), or a member of a cluster.")
    how = {
        "efa": "Give each network card an interface of the type 'efa' or 'efa-only'.",
        "erdma": "Set the traffic mode of its interfaces to 'HighPerformance'.",
    }.get(capable, "Put it into an HPC cluster.")
    message = f"pool '{pool.name}' has {', '.join(types_of(pool))}, whose RDMA ({capable}) is not switched on"
    return failed(f"{message}: its nodes would talk over TCP. {how}")


def _judge_rdma_speed(context: Context, pool: NodePoolFact) -> Answer:
    if not is_one_job_on_several_nodes(context, pool):
        return passed(_ALONE)
    least = context.threshold("rdma_gbps")

    def fault(row: InstanceType) -> str | None:
        if stated(row.has_rdma, row, "the RDMA network") is False:
            return None
        speed = stated(row.rdma_gbps, row, "the speed of the RDMA network")
        return None if speed >= least else f"{row.instance_type} has RDMA of {speed:g} Gbps"

    found = fault_of(pool, fault)
    if found is None:
        return passed("fast enough for any model, or FAB006 says that there is no RDMA.")
    size, large = parameters_of(context, pool), context.threshold("model_parameters")
    if size < large:
        return passed(f"a model of {size / 1e9:g} B parameters does not need it.")
    message = f"pool '{pool.name}' trains a model of {size / 1e9:g} B parameters, but {found}."
    return failed(f"{message} Use nodes with at least {least:g} Gbps{better_type(pool.cloud, _is_fast)}.")


def _is_fast(row: InstanceType) -> bool:
    return _has_rdma(row) and (row.rdma_gbps or 0) >= 100  # noqa: PLR2004 - the default


def _judge_zones(context: Context, pool: NodePoolFact) -> Answer:
    if not is_one_job_on_several_nodes(context, pool):
        return passed(_ALONE)
    zones = known(pool.zones, f"in which zones pool '{pool.name}' is")
    if not zones:
        raise CannotTellError(f"cannot tell in which zones pool '{pool.name}' is: the resource leaves it to the cloud.")
    ids = [zone for zone in zones if is_zone_id(zone)]
    places = set(zones)
    if len(places) > 1 and len(ids) in (0, len(zones)):
        message = f"pool '{pool.name}' spreads one job over {len(places)} zones ({', '.join(sorted(places))})"
        return failed(f"{message}: RDMA does not leave a zone. Name one zone, or subnets of one.")
    if len(places) > 1:
        raise CannotTellError(f"cannot tell whether {', '.join(sorted(places))} are one zone: names beside ids.")
    return passed(f"all in {zones[0]}.")


def _judge_placement(context: Context, pool: NodePoolFact) -> Answer:
    if not is_one_job_on_several_nodes(context, pool):
        return passed(_ALONE)
    kind = _rdma_of(pool)
    if kind not in _IN_THE_NETWORK:
        return passed("its machines are joined by a cluster of their own, or have no RDMA.")
    purchase = known(pool.purchase, f"how pool '{pool.name}' is bought")
    if purchase in ("capacity_block", "reserved"):
        return passed("reserved capacity: where it lies was decided when it was reserved.")
    if purchase in ("spot", "mixed"):
        return passed("spot: a placement group would only make machines rarer.")
    placement = known(pool.placement, f"how near the nodes of pool '{pool.name}' are")
    if placement == "close":
        return passed("its nodes are placed together.")
    what = "asks for its nodes to be spread" if placement == "spread" else "says nothing of where its nodes lie"
    message = f"pool '{pool.name}' is one job on up to {nodes_max_of(pool)} nodes, but {what}"
    return failed(f"{message}. Put it into a placement group that keeps nodes together.")


def _group_open(context: Context) -> Iterable[Finding]:
    groups = {group.urn: group for group in context.facts.security_groups}

    def judge(_: Context, pool: NodePoolFact) -> Answer:
        return _judge_group(pool, groups)

    return each(context, context.facts.node_pools, judge)


def _judge_group(pool: NodePoolFact, groups: dict[str, SecurityGroupFact]) -> Answer:
    interfaces = known(pool.rdma_interfaces, f"whether RDMA is switched on for pool '{pool.name}'")
    if not interfaces or is_alone(pool):
        return passed("no RDMA between nodes.")
    kind = _rdma_of(pool)
    if kind not in _IN_THE_NETWORK:
        return passed("its RDMA does not pass security groups.")
    names = known(pool.security_groups, f"which security groups pool '{pool.name}' has")
    here = [groups[name] for name in names if name in groups]
    missing: list[str] = []
    for way, flags in (
        ("in", [group.open_to_itself_in for group in here]),
        ("out", [group.open_to_itself_out for group in here]),
    ):
        if True in flags:
            continue
        if len(here) < len(names):
            raise CannotTellError(
                f"cannot tell whether the nodes of pool '{pool.name}' reach each other: a security group of them is "
                "not in this stack."
            )
        for flag in flags:
            known(flag, f"whether the nodes of pool '{pool.name}' reach each other")
        missing.append(way)
    if not missing:
        return passed("its security group is open to itself, both ways.")
    group = here[0].name if here else "none"
    rules = " and ".join({"in": "an ingress self rule", "out": "an egress self rule"}[way] for way in missing)
    return failed(
        f"the security group ('{group}') of pool '{pool.name}' lacks {rules} for all protocols: RDMA passes only by "
        f"rules that name the group itself, and addresses such as 0.0.0.0/0 do not count. Add {rules}."
    )


def _judge_block_placement(context: Context, pool: NodePoolFact) -> Answer:
    if pool.purchase != "capacity_block" and not isinstance(pool.purchase, Unknown):
        return None
    if pool.placement is None:
        return None
    known(pool.purchase, f"how pool '{pool.name}' is bought")
    known(pool.placement, f"whether pool '{pool.name}' has a placement group")
    message = f"pool '{pool.name}' has a placement group, but its machines come from a capacity block"
    return failed(f"{message}: the launch would fail, and the block lies together already. Remove the placement group.")


NETWORK_RULES = (
    Rule(
        id="FAB006",
        name="multi-node-training-needs-rdma",
        family="fabric",
        title="One job on several nodes needs machines with RDMA.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "Each step exchanges all gradients between nodes. Over TCP the processors copy every byte, and latency is "
            "ten times that of RDMA: adding nodes makes the job dearer, and hardly faster."
        ),
        remedy="Choose a type with EFA, eRDMA or RoCE, or train on one node.",
        check=on_pools(_judge_rdma_type),
        example=("pretrain on 4 × p3.16xlarge: no RDMA", "pretrain on 4 × p4d.24xlarge: EFA"),
    ),
    Rule(
        id="FAB007",
        name="rdma-is-switched-on",
        family="fabric",
        title="The RDMA of machines that work on one job is switched on.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "A type that can do RDMA does it only where its interfaces or its cluster say so; else NCCL uses TCP."
        ),
        remedy="Add EFA interfaces, set the traffic mode of interfaces to high performance, or join the HPC cluster.",
        check=on_pools(_judge_rdma_on),
        example=("p4d.24xlarge with ordinary interfaces", "p4d.24xlarge with interfaceType: efa on each card"),
    ),
    Rule(
        id="FAB008",
        name="large-model-training-needs-fast-rdma",
        family="fabric",
        title="Training a large model on several nodes needs RDMA of 100 Gbps or more.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "Gradients of 70 B parameters in 16 bits are 140 GB a step. Below 100 Gbps for a node their exchange takes "
            "longer than the step itself."
        ),
        remedy="Choose machines with a faster RDMA network.",
        check=on_pools(_judge_rdma_speed),
        example=("70 B parameters over 64 Gbps", "70 B parameters over 400 Gbps"),
        thresholds={
            "rdma_gbps": Threshold(
                100, "Gbps", "least RDMA of one node", "https://arxiv.org/abs/2104.04473 (section 5.9)"
            ),
            "model_parameters": Threshold(
                70e9,
                "parameters",
                "size from which a model counts as large",
                "https://arxiv.org/abs/2104.04473 (table 1)",
            ),
        },
    ),
    Rule(
        id="FAB009",
        name="one-job-stays-in-one-zone",
        family="fabric",
        title="The nodes of one job are in one zone.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale="RDMA does not leave a zone, and traffic between zones is slower and is paid for.",
        remedy="Give the pool one zone, or subnets of one zone.",
        check=on_pools(_judge_zones),
        example=("zones us-east-1a and us-east-1d", "zone us-east-1d"),
    ),
    Rule(
        id="FAB010",
        name="one-job-is-placed-together",
        family="fabric",
        title="The nodes of one job are placed near each other.",
        severity="medium",
        levels=everywhere("advisory"),
        rationale=(
            "Without a placement group nodes may lie in different parts of a zone, with more hops and less bandwidth "
            "between them. It is advice: a placement group is no condition of RDMA, and makes capacity rarer."
        ),
        remedy="Put the pool into a cluster placement group; not with spot, and not with a capacity block.",
        check=on_pools(_judge_placement),
        example=("4 × p4d.24xlarge, no placement", "4 × p4d.24xlarge in a group with strategy: cluster"),
    ),
    Rule(
        id="FAB011",
        name="rdma-security-group-is-open-to-itself",
        family="fabric",
        title="The security group of RDMA interfaces is open to itself, both ways.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale=(
            "RDMA packets have no addresses that a CIDR rule could match. Without rules in both directions that name "
            "the group itself nodes ping each other, and every NCCL job dies with an unresponsive receiver."
        ),
        remedy="Add an ingress and an egress rule for all protocols whose peer is the group itself.",
        check=_group_open,
        example=("ingress self, egress 0.0.0.0/0", "ingress self, egress self and 0.0.0.0/0"),
    ),
    Rule(
        id="FAB012",
        name="no-placement-group-with-a-capacity-block",
        family="fabric",
        title="A pool on a capacity block has no placement group.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale="A capacity block lies together already; a launch that names a placement group as well is refused.",
        remedy="Remove the placement group.",
        check=on_pools(_judge_block_placement),
        example=("marketType: capacity-block with a placement group", "marketType: capacity-block alone"),
    ),
)
