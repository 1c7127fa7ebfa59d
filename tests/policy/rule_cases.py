"""What every rule must say of facts made by hand: where it fails, passes, cannot tell, and has nothing to say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard_policy.facts import Facts, NodePoolFact, StorageFact, Unknown
from gpuyard_policy.facts.model import (
    AlarmFact,
    BudgetFact,
    CopyFact,
    DiskFact,
    IngressFact,
    RoleFact,
    SecurityGroupFact,
    ServiceFact,
    SnapshotScheduleFact,
    TaggedFact,
)

LATER = Unknown("it is known only after the update")
CLOUDS = ("aws", "alicloud", "tencentcloud")


def urn(name: str) -> str:
    return f"urn:pulumi:test::project::some:type:Type::{name}"


@dataclass(frozen=True)
class Case:
    """Facts, what a rule says of them, and a part of its message; no verdict where it says nothing."""

    rule: str
    verdict: str | None
    facts: Facts
    message: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


def pool(task: Any = "pretrain", size: Any = "70000000000", **more: Any) -> NodePoolFact:
    """Four nodes of 8 A100 that do everything right; ``more`` changes facts."""
    tags = {"gpuyard:task": task, "gpuyard:model-parameters": size}
    good = NodePoolFact(
        urn=urn("train"),
        name="train",
        cloud="aws",
        instance_types=("p4de.24xlarge",),
        nodes_max=4,
        region="us-east-1",
        tags={key: value for key, value in tags.items() if value is not None},
        nodes_min=4,
        zones=("us-east-1d",),
        purchase="on_demand",
        spot_price_limit=None,
        placement="close",
        rdma_interfaces=4,
        public_address=False,
        metadata_hardened=True,
        security_groups=(urn("group"),),
        disks=(disk(role="root"),),
        user_data=None,
        image="ami-1",
        image_pinned=True,
        handles_interruption=True,
        elastic=False,
        taints=None,
    )
    return replace(good, **more)


def disk(**more: Any) -> DiskFact:
    good = DiskFact(
        urn=urn("disk"),
        name="disk",
        cloud="aws",
        role="data",
        disk_type="gp3",
        size_gib=500,
        iops=None,
        throughput_mb_per_s=500.0,
        encrypted=True,
        tags={"backup": "daily"},
    )
    return replace(good, **more)


def files(**more: Any) -> StorageFact:
    good = StorageFact(
        urn=urn("files"),
        name="files",
        cloud="aws",
        kind="file system",
        region="us-east-1",
        is_replica=False,
        tags={},
        encrypted=True,
        protected=True,
        zone="us-east-1d",
        parallel=True,
        scratch=False,
        throughput_mb_per_s=6000.0,
        exports=False,
    )
    return replace(good, **more)


def bucket(**more: Any) -> StorageFact:
    return files(
        **{"urn": urn("bucket"), "name": "bucket", "kind": "bucket", "zone": None, "parallel": False}
        | {"throughput_mb_per_s": None, "public": False, "https_only": True, "expires": True}
        | more
    )


def schedule(**more: Any) -> SnapshotScheduleFact:
    good = SnapshotScheduleFact(
        urn=urn("schedule"),
        name="schedule",
        cloud="aws",
        region="us-east-1",
        enabled=True,
        target_tags={"backup": "daily"},
        attached=(),
        keep_days=14.0,
        keep_count=None,
        copies=(CopyFact("us-west-2", True, 30.0),),
    )
    return replace(good, **more)


def ingress(**more: Any) -> IngressFact:
    good = IngressFact(urn("rule"), "rule", "aws", urn("group"), "10.0.0.0/8", (22, 22), "tcp")
    return replace(good, **more)


def pools(*all_of_them: NodePoolFact) -> Facts:
    return Facts(node_pools=all_of_them)


def group(into: Any = True, out: Any = True) -> Facts:
    return Facts(node_pools=(pool(),), security_groups=(SecurityGroupFact(urn("group"), "group", "aws", into, out),))


def copied(copy: Any) -> Facts:
    return Facts(schedules=(schedule(copies=copy if isinstance(copy, Unknown) else (copy,)),))


def stored(**more: Any) -> Facts:
    return Facts(node_pools=(pool(),), storage=(files(**more),))


def spot(**more: Any) -> NodePoolFact:
    return pool(**{"task": "lora", "purchase": "spot", "placement": None, **more})


def _fabric() -> list[Case]:
    small = {"size": "13000000000"}
    p3 = ("p3.16xlarge",)
    return [
        Case("FAB001", "fail", pools(pool(instance_types=("g5.12xlarge",))), "joined by pcie only"),
        Case(
            "FAB001",
            "fail",
            pools(pool(cloud="alicloud", instance_types=("ecs.gn7i-c32g1.32xlarge",))),
            "ecs.gn7i-c32g1.32xlarge",
        ),
        Case("FAB001", "pass", pools(pool())),
        Case("FAB001", "undecided", pools(pool(instance_types=LATER)), "cannot tell yet what machines"),
        Case("FAB001", "undecided", pools(pool(task=None)), "no work is known for 1 pool(s) (train)"),
        Case("FAB002", "fail", pools(pool(instance_types=p3)), "moves 300 GB/s over NVLink"),
        Case("FAB002", "pass", pools(pool(instance_types=p3, **small)), "13 B parameters does not need it"),
        Case("FAB002", "pass", pools(pool()), "fast enough for any model"),
        Case("FAB002", "pass", pools(pool(size=None)), "fast enough for any model"),
        Case("FAB002", "undecided", pools(pool(size=None, instance_types=p3)), "no size of the model is known"),
        Case("FAB002", "undecided", pools(pool(instance_types=LATER)), "cannot tell yet what machines"),
        Case("FAB002", "undecided", pools(pool(instance_types=p3, size=LATER)), "how large the model"),
        Case("FAB003", "fail", pools(pool(instance_types=("g6e.48xlarge",))), "moves 864 GB/s"),
        Case("FAB003", "pass", pools(pool())),
        Case("FAB003", "undecided", pools(pool(instance_types=LATER)), "what machines"),
        Case("FAB004", "fail", pools(pool(instance_types=p3, **small)), "a GPU of p3.16xlarge has 16 GB"),
        Case("FAB004", "pass", pools(pool())),
        Case("FAB004", "pass", pools(pool(instance_types=p3, size="7000000000")), "does not need more"),
        Case("FAB004", "undecided", pools(pool(instance_types=p3, size=None)), "no size of the model"),
        Case("FAB004", "undecided", pools(pool(instance_types=("p9.666xlarge",))), "the catalog does not know"),
        Case("FAB005", "fail", pools(pool("inference", instance_types=("g4ad.xlarge",))), "g4ad.xlarge has 8 GB"),
        Case("FAB005", "pass", pools(pool("inference"))),
        Case("FAB005", "pass", pools(pool("pretrain", instance_types=("g4ad.xlarge",))), "makes no images"),
        Case("FAB005", "undecided", pools(pool("inference", instance_types=LATER)), "what machines"),
        Case("FAB006", "fail", pools(pool(instance_types=p3)), "has no RDMA"),
        Case("FAB006", "pass", pools(pool())),
        Case("FAB006", "pass", pools(pool(instance_types=p3, nodes_max=1)), "one node"),
        Case("FAB006", "pass", pools(pool("lora", instance_types=p3)), "a job each"),
        Case("FAB006", "undecided", pools(pool(instance_types=p3, nodes_max=LATER)), "how many nodes"),
        Case("FAB006", "undecided", pools(pool(instance_types=p3, nodes_max=None)), "does not say"),
        Case("FAB007", "fail", pools(pool(rdma_interfaces=0)), "RDMA (efa) is not switched on"),
        Case("FAB007", "pass", pools(pool())),
        Case("FAB007", "undecided", pools(pool(rdma_interfaces=LATER)), "whether RDMA is switched on"),
        Case("FAB008", "fail", pools(pool(instance_types=("g4dn.8xlarge",))), "has RDMA of 50 Gbps"),
        Case("FAB008", "pass", pools(pool())),
        Case("FAB008", "undecided", pools(pool(size=None, instance_types=("g4dn.8xlarge",))), "no size of the model"),
        Case("FAB008", "undecided", pools(pool(instance_types=LATER)), "what machines"),
        Case(
            "FAB009", "fail", pools(pool(zones=("us-east-1a", "us-east-1d"))), "over 2 zones (us-east-1a, us-east-1d)"
        ),
        Case("FAB009", "pass", pools(pool())),
        Case("FAB009", "pass", pools(pool(zones=("us-east-1d", "us-east-1d")))),
        Case("FAB009", "undecided", pools(pool(zones=LATER)), "in which zones"),
        Case("FAB009", "undecided", pools(pool(zones=())), "leaves it to the cloud"),
        Case("FAB009", "undecided", pools(pool(zones=("us-east-1d", "use1-az4"))), "names beside ids"),
        Case("FAB010", "fail", pools(pool(placement=None)), "says nothing of where its nodes lie"),
        Case("FAB010", "fail", pools(pool(placement="spread")), "asks for its nodes to be spread"),
        Case("FAB010", "pass", pools(pool())),
        Case("FAB010", "pass", pools(pool(placement=None, purchase="capacity_block")), "reserved capacity"),
        Case("FAB010", "undecided", pools(pool(placement=LATER)), "how near"),
        Case("FAB011", "fail", group(out=False), "lacks an egress self rule"),
        Case("FAB011", "fail", group(into=False, out=False), "an ingress self rule and an egress self rule"),
        Case("FAB011", "fail", pools(pool(security_groups=())), "('none')"),
        Case("FAB011", "pass", group()),
        Case("FAB011", "undecided", pools(pool()), "is not in this stack"),
        Case("FAB011", "undecided", group(out=LATER), "reach each other"),
        Case("FAB012", "fail", pools(pool(purchase="capacity_block")), "come from a capacity block"),
        Case("FAB012", None, pools(pool(purchase="capacity_block", placement=None))),
        Case("FAB012", None, pools(pool())),
        Case("FAB012", "undecided", pools(pool(purchase=LATER)), "how pool 'train' is bought"),
        Case("FAB013", "pass", pools(pool())),
        Case("FAB013", "undecided", pools(pool(instance_types=("p9.666xlarge",))), "which the catalog does not know"),
    ]


def _storage() -> list[Case]:
    nfs = {"parallel": False}
    scratch = {"scratch": True}
    return [
        Case(
            "STO001", "fail", stored(region="eu-west-1"), "is in eu-west-1, but the nodes that use it are in us-east-1"
        ),
        Case("STO001", "pass", stored()),
        Case("STO001", "pass", stored(region="eu-west-1", is_replica=True)),
        Case("STO001", "undecided", stored(region=LATER), "where file system 'files' is"),
        Case("STO002", "fail", stored(zone="us-east-1a"), "is in us-east-1a, but the nodes"),
        Case("STO002", "pass", stored()),
        Case("STO002", "pass", stored(zone=None)),
        Case("STO002", "undecided", stored(zone=LATER), "in which zone"),
        Case("STO002", "undecided", stored(zone="use1-az4"), "is in the zone of its nodes"),
        Case("STO003", "fail", pools(pool()), "nor what its nodes run has a parallel file system"),
        Case("STO003", "fail", stored(**nfs), "one server"),
        Case("STO003", "pass", stored()),
        Case("STO003", "pass", pools(pool(user_data="mount -t lustre fs-1@tcp:/a /fsx")), "of another stack"),
        Case("STO003", "undecided", pools(pool(user_data=LATER)), "what the nodes"),
        Case("STO003", "undecided", stored(parallel=LATER), "is a parallel one"),
        Case("STO004", "fail", stored(throughput_mb_per_s=150.0), "gives 150 MB/s"),
        Case(
            "STO004",
            "fail",
            stored(),
            "less than 9000",
            {"rules": {"STO004": {"thresholds": {"throughput_mb_per_s": 9000}}}},
        ),
        Case("STO004", "fail", stored(throughput_mb_per_s=1000.0), "less than 1361"),
        Case("STO004", "pass", stored()),
        Case("STO004", "pass", Facts(storage=(files(throughput_mb_per_s=1.0),))),
        Case("STO004", "undecided", stored(throughput_mb_per_s=LATER), "how fast"),
        Case("STO004", "undecided", stored(throughput_mb_per_s=None), "promises no throughput"),
        Case("STO005", "fail", pools(_gn7(disk_type="cloud_efficiency")), "ecs.gn7i-c8g1.2xlarge refuses"),
        Case("STO005", "fail", pools(_gn7(disk_type=None)), "leaves the class of its system disk to the cloud"),
        Case("STO005", "pass", pools(_gn7(disk_type="cloud_essd PL1"))),
        Case("STO005", None, pools(pool())),
        Case("STO005", "undecided", pools(_gn7(disk_type=LATER)), "of what class"),
        Case("STO006", "fail", Facts(disks=(_essd(size_gib=100),)), "begins at 461 GiB"),
        Case("STO006", "fail", Facts(disks=(_essd(size_gib=70_000),)), "ends at 65536 GiB"),
        Case("STO006", "fail", pools(pool(disks=(_essd(size_gib=100),))), "begins at 461 GiB"),
        Case("STO006", "pass", Facts(disks=(_essd(size_gib=461),))),
        Case("STO006", "undecided", Facts(disks=(_essd(size_gib=LATER),)), "how large"),
        Case("STO007", "fail", pools(pool(disks=(disk(throughput_mb_per_s=None),))), "gives 131 MB/s"),
        Case("STO007", "pass", pools(pool(disks=(disk(),)))),
        Case("STO007", "undecided", pools(pool(disks=LATER)), "what disks"),
        Case("STO007", "undecided", pools(pool(disks=(disk(disk_type="own", throughput_mb_per_s=None),))), "its class"),
        Case("STO008", "fail", Facts(disks=(disk(encrypted=False),)), "disk 'disk' is not encrypted"),
        Case("STO008", "fail", pools(pool(disks=())), "leaves its root disk to the image"),
        Case("STO008", "pass", pools(pool())),
        Case("STO008", "undecided", Facts(disks=(disk(encrypted=LATER),)), "whether disk"),
        Case("STO008", "undecided", pools(pool(disks=LATER)), "what disks"),
        Case("STO009", "fail", stored(encrypted=False), "is not encrypted at rest"),
        Case("STO009", "pass", stored()),
        Case("STO009", "undecided", stored(encrypted=LATER), "whether file system"),
        Case("STO010", "fail", stored(**scratch), "the only home"),
        Case("STO010", "pass", stored()),
        Case("STO010", "pass", stored(**scratch, exports=True)),
        Case("STO010", "pass", Facts(storage=(files(**scratch), bucket()))),
        Case("STO010", "undecided", stored(scratch=LATER), "is a scratch one"),
        Case("STO010", "undecided", stored(**scratch, exports=LATER), "copies what is written"),
    ]


def _gn7(**more: Any) -> NodePoolFact:
    root = disk(cloud="alicloud", role="root", **more)
    return pool(cloud="alicloud", instance_types=("ecs.gn7i-c8g1.2xlarge",), disks=(root,))


def _essd(**more: Any) -> DiskFact:
    return disk(cloud="alicloud", disk_type="cloud_essd PL2", **more)


def _snapshots() -> list[Case]:
    both = Facts(disks=(disk(),), schedules=(schedule(),))
    return [
        Case("SNP001", "fail", Facts(disks=(disk(),)), "no schedule makes snapshots of it"),
        Case("SNP001", "fail", replace(both, disks=(disk(tags={"Backup": "daily"}),)), "case and all"),
        Case("SNP001", "fail", replace(both, schedules=(schedule(enabled=False),)), "is switched off"),
        Case("SNP001", "pass", both),
        Case("SNP001", "pass", replace(both, schedules=(schedule(target_tags=None, attached=(urn("disk"),)),))),
        Case("SNP001", "undecided", replace(both, disks=(disk(tags=LATER),)), "whether a schedule selects"),
        Case("SNP001", "undecided", replace(both, schedules=(schedule(target_tags=LATER),)), "selects"),
        Case("SNP001", "undecided", replace(both, schedules=(schedule(enabled=LATER),)), "is switched on"),
        Case("SNP002", "fail", replace(both, disks=()), "finds disks by backup=daily, and no disk in this stack"),
        Case("SNP002", "fail", replace(both, disks=(disk(tags={"backup": "Daily"}),)), "case and all"),
        Case("SNP002", "fail", Facts(schedules=(schedule(target_tags=None),)), "is attached to nothing"),
        Case("SNP002", "pass", both),
        Case("SNP002", "pass", Facts(node_pools=(pool(disks=(disk(),)),), schedules=(schedule(),))),
        Case("SNP002", "undecided", replace(both, disks=(disk(tags=LATER),)), "what tags disk 'disk' has"),
        Case("SNP002", "undecided", Facts(schedules=(schedule(target_tags=LATER),)), "selects"),
        Case("SNP002", "undecided", Facts(node_pools=(pool(disks=LATER),), schedules=(schedule(),)), "what disks pool"),
        Case("SNP003", "fail", Facts(schedules=(schedule(keep_days=None),)), "never end"),
        Case("SNP003", "pass", both),
        Case("SNP003", "pass", Facts(schedules=(schedule(keep_days=None, keep_count=7),))),
        Case("SNP003", "undecided", Facts(schedules=(schedule(keep_days=LATER),)), "how long"),
        Case("SNP004", "fail", Facts(schedules=(schedule(keep_days=3650.0),)), "for 3650 days, longer than 365"),
        Case("SNP004", "fail", Facts(schedules=(schedule(keep_days=None, keep_count=2000),)), "keeps 2000 snapshots"),
        Case("SNP004", "fail", both, "longer than 7", {"rules": {"SNP004": {"thresholds": {"keep_days_max": 7}}}}),
        Case("SNP004", "pass", both),
        Case("SNP004", "undecided", Facts(schedules=(schedule(keep_days=LATER),)), "how long"),
        Case("SNP005", "fail", Facts(schedules=(schedule(copies=()),)), "exist in one region only"),
        Case("SNP005", None, Facts(schedules=(schedule(copies=()),)), settings={"profile": "dev"}),
        Case("SNP005", "pass", both),
        Case("SNP005", "undecided", copied(LATER), "copies snapshots"),
        Case("SNP006", "fail", copied(CopyFact("us-east-1", True, 30.0)), "to us-east-1, where they are"),
        Case("SNP006", "pass", both),
        Case("SNP006", "undecided", copied(CopyFact(LATER, True, 30.0)), "copies to"),
        Case("SNP007", "fail", copied(CopyFact("us-west-2", True, None)), "never end"),
        Case("SNP007", "pass", both),
        Case("SNP007", "undecided", copied(CopyFact("us-west-2", True, LATER)), "are kept"),
        Case("SNP008", "fail", copied(CopyFact("us-west-2", False, 30.0)), "are not encrypted"),
        Case("SNP008", "pass", both),
        Case("SNP008", "undecided", copied(CopyFact("us-west-2", LATER, 30.0)), "are encrypted"),
    ]


def _spot() -> list[Case]:
    return [
        Case("SPT001", "fail", pools(spot()), "nothing beside it outlives a machine"),
        Case("SPT001", "fail", Facts(node_pools=(spot(),), storage=(files(scratch=True),)), "outlives"),
        Case("SPT001", "pass", Facts(node_pools=(spot(),), storage=(bucket(),))),
        Case("SPT001", "pass", pools(spot(user_data="train --out s3://a/b")), "of another stack"),
        Case("SPT001", "pass", pools(spot(task="inference"))),
        Case("SPT001", None, pools(pool())),
        Case("SPT001", "undecided", pools(spot(user_data=LATER)), "writes checkpoints"),
        Case("SPT001", "undecided", pools(pool(purchase=LATER)), "is bought"),
        Case("SPT002", "fail", pools(pool(purchase="spot")), "pre-trains on up to 4 spot nodes"),
        Case("SPT002", "pass", pools(spot())),
        Case("SPT002", "pass", pools(pool(purchase="spot", nodes_max=1))),
        Case("SPT002", "undecided", pools(pool(purchase="spot", nodes_max=LATER)), "how many nodes"),
        Case("SPT003", "fail", pools(spot()), "may be of p4de.24xlarge only"),
        Case("SPT003", "pass", pools(spot(instance_types=("p4d.24xlarge", "p4de.24xlarge")))),
        Case("SPT003", "undecided", pools(spot(instance_types=LATER)), "what machines"),
        Case("SPT004", "fail", pools(spot(handles_interruption=False)), "nothing is told before"),
        Case("SPT004", "pass", pools(spot())),
        Case("SPT004", "undecided", pools(spot(handles_interruption=LATER)), "handles interruptions"),
        Case("SPT005", "fail", pools(spot(placement="close")), "wants its machines together"),
        Case("SPT005", "pass", pools(spot())),
        Case("SPT005", "undecided", pools(spot(placement=LATER)), "has a placement group"),
        Case("SPT006", "fail", pools(spot(spot_price_limit=0.01, **PRICED)), "less than"),
        Case("SPT006", "pass", pools(spot(spot_price_limit=1000.0, **PRICED))),
        Case("SPT006", "pass", pools(spot()), "up to the on-demand price"),
        Case("SPT006", "undecided", pools(spot(spot_price_limit=LATER)), "pays at most"),
        Case("SPT006", "undecided", pools(spot(spot_price_limit=1.0, instance_types=("p9.666xlarge",))), "price book"),
    ]


def _a_priced_type(kind: str) -> dict[str, Any]:
    """A type and region of AWS of which the catalog has a price, whatever the catalog holds today."""
    from gpuyard.catalog import instance_type
    from gpuyard.catalog.prices import PriceBook

    for quote in PriceBook.load().prices:
        known = quote.cloud == "aws" and quote.unit == "hour" and instance_type("aws", quote.item) is not None
        if known and getattr(quote, kind) is not None and quote.on_demand is not None:
            return {"instance_types": (quote.item,), "region": quote.region}
    raise AssertionError(f"the catalog has no {kind} price by the hour")


PRICED = _a_priced_type("spot")
# Sold by the hour and by the month.
RESERVED = {"cloud": "alicloud", "instance_types": ("ecs.gn7i-c8g1.2xlarge",), "region": "cn-shanghai"}
DEMANDED = _a_priced_type("on_demand")


def _cost() -> list[Case]:
    def budget(amount: Any = 1e9, currency: Any = "USD") -> tuple[BudgetFact, ...]:
        return (BudgetFact(urn("budget"), "budget", "aws", amount, currency),)

    priced = (pool(**DEMANDED),)
    dev = {"profile": "dev"}
    elastic = {"elastic": True, "nodes_min": 1}
    return [
        Case("CST001", "fail", Facts(node_pools=priced, budgets=budget(1.0)), "over the budget of 1"),
        Case("CST001", "fail", Facts(node_pools=priced), "over the budget", {"monthly_budget": 1}),
        Case("CST001", "pass", Facts(node_pools=priced, budgets=budget())),
        Case("CST001", "undecided", Facts(node_pools=priced), "no budget is known"),
        Case("CST001", "undecided", Facts(node_pools=priced, budgets=budget(LATER)), "how large budget 'budget' is"),
        Case("CST001", "undecided", Facts(node_pools=priced, budgets=budget(currency="CNY")), "not in CNY"),
        Case("CST001", "undecided", Facts(node_pools=priced, budgets=budget(currency=None)), "names no currency"),
        Case("CST001", "undecided", Facts(node_pools=priced, budgets=budget(amount=None)), "names no amount"),
        Case("CST001", "undecided", Facts(node_pools=priced, budgets=(*budget(), *budget(currency="CNY"))), "CNY and"),
        Case("CST001", "fail", Facts(node_pools=priced, budgets=budget(1.0, None)), "over", {"monthly_budget": 1}),
        Case("CST001", "pass", Facts(node_pools=priced, budgets=(*budget(1.0), *budget()))),
        Case("CST001", "undecided", Facts(node_pools=(pool(nodes_min=LATER, **DEMANDED),), budgets=budget()), "1 pool"),
        Case("CST001", None, Facts(budgets=budget())),
        Case("CST002", "fail", pools(pool(**RESERVED)), "with a term each costs 34 % less"),
        Case("CST002", "pass", pools(pool(**RESERVED, elastic=True))),
        Case("CST002", "pass", pools(pool(**RESERVED, nodes_min=0))),
        Case("CST002", None, pools(pool(purchase="reserved"))),
        Case("CST002", "undecided", pools(pool(region="eu-north-9")), "the price book has no two such prices"),
        Case("CST003", "fail", pools(pool(**elastic)), "always has 1 node(s)", dev),
        Case("CST003", "pass", pools(pool(elastic=True, nodes_min=0)), settings=dev),
        Case("CST003", "pass", pools(pool()), "of a fixed size", dev),
        Case("CST003", None, pools(pool(**elastic)), settings={"profile": "prod"}),
        Case("CST003", "undecided", pools(pool(nodes_min=LATER)), "always has", dev),
        Case("CST004", "fail", Facts(storage=(bucket(expires=False),)), "ever ends"),
        Case("CST004", "pass", Facts(storage=(bucket(),))),
        Case("CST004", "undecided", Facts(storage=(bucket(expires=LATER),)), "ever ends"),
        Case("CST005", "fail", Facts(services=(ServiceFact(urn("s"), "s", "aws", "advanced_ddos"),)), "monthly fee"),
        Case("CST005", None, Facts(services=(ServiceFact(urn("s"), "s", "aws", "cross_region_traffic", "eu"),))),
        Case("CST006", "fail", _traffic("eu-west-1"), "carries traffic to eu-west-1"),
        Case("CST006", None, Facts(services=(ServiceFact(urn("s"), "s", "aws", "advanced_ddos"),))),
        Case("CST006", "undecided", _traffic(LATER), "leads to"),
        Case("CST006", "undecided", _traffic(None), "it does not say"),
    ]


def _traffic(region: Any) -> Facts:
    return Facts(services=(ServiceFact(urn("s"), "s", "aws", "cross_region_traffic", region),))


def _access() -> list[Case]:
    def let_in(**more: Any) -> Facts:
        return Facts(ingress=(ingress(**more),))

    def role(wide: Any) -> Facts:
        return Facts(roles=(RoleFact(urn("role"), "role", "aws", wide),))

    world = {"cidr": "0.0.0.0/0"}
    web = {**world, "ports": (443, 443)}
    return [
        Case("ACC001", "fail", let_in(**world), "port 22 in from the internet (0.0.0.0/0): 22 (SSH)"),
        Case("ACC001", "fail", let_in(cidr="::/0", ports=(8000, 9000)), "8888 (Jupyter)"),
        Case("ACC001", "fail", let_in(**world, ports=(29500, 29500)), "29500 (torch.distributed)"),
        Case("ACC001", "fail", let_in(**world, ports=None, protocol="all"), "all ports"),
        Case("ACC001", "fail", let_in(cidr="0.0.0.0/1"), "from the internet"),
        Case("ACC001", "fail", Facts(node_pools=(pool(),), ingress=(ingress(**web),)), "of GPU nodes"),
        Case("ACC001", "pass", let_in()),
        Case("ACC001", "pass", let_in(cidr="203.0.113.7/32")),
        Case("ACC001", "pass", let_in(**web), "none of its ports"),
        Case("ACC001", "pass", let_in(**world, ports=None, protocol="icmp")),
        Case("ACC001", "undecided", let_in(cidr=LATER), "from where"),
        Case("ACC001", "undecided", let_in(cidr="everywhere"), "is no range"),
        Case("ACC001", "undecided", let_in(**world, ports=LATER), "which ports"),
        Case("ACC002", "fail", pools(pool(public_address=True)), "an address of the internet"),
        Case("ACC002", "pass", pools(pool())),
        Case("ACC002", None, pools(pool(public_address=True, instance_types=("t3.micro",)))),
        Case("ACC002", "undecided", pools(pool(public_address=None)), "their subnet decides"),
        Case("ACC002", "undecided", pools(pool(public_address=LATER)), "get a public address"),
        Case("ACC003", "fail", Facts(storage=(bucket(public=True),)), "by everybody"),
        Case("ACC003", "pass", Facts(storage=(bucket(),))),
        Case("ACC003", "undecided", Facts(storage=(bucket(public=LATER),)), "is public"),
        Case("ACC004", "fail", pools(pool(metadata_hardened=False)), "answers without a token"),
        Case("ACC004", "pass", pools(pool())),
        Case("ACC004", "undecided", pools(pool(metadata_hardened=LATER)), "asks for a token"),
        Case("ACC005", "fail", role(("s3:*",)), "gives s3:*"),
        Case("ACC005", "pass", role(())),
        Case("ACC005", "undecided", role(LATER), "which rights"),
        Case("ACC006", "fail", pools(pool(user_data=f"export K={'AKIA' + 'A' * 16}")), "an AWS access key"),
        Case("ACC006", "fail", pools(pool(user_data="export WANDB_API_KEY=0123456789abcdef")), "a password"),
        Case("ACC006", "fail", pools(pool(user_data="-----BEGIN RSA PRIVATE KEY-----")), "a private key"),
        Case("ACC006", "pass", pools(pool(user_data='export TOKEN="$(aws secretsmanager get-secret-value)"'))),
        Case("ACC006", "pass", pools(pool(user_data="TOKEN=$(curl -X PUT http://169.254.169.254/latest/api/token)"))),
        Case("ACC006", "pass", pools(pool())),
        Case("ACC006", "undecided", pools(pool(user_data=LATER)), "run when they start"),
        Case("ACC007", "fail", Facts(storage=(bucket(https_only=False),)), "answers plain HTTP"),
        Case("ACC007", "pass", Facts(storage=(bucket(),))),
        Case("ACC007", "undecided", Facts(storage=(bucket(https_only=LATER),)), "refuses plain HTTP"),
    ]


def _operations() -> list[Case]:
    def watched(value: Any) -> Facts:
        return Facts(node_pools=(pool(),), alarms=(AlarmFact(urn("alarm"), "alarm", "aws", value),))

    def tagged(tags: Any) -> Facts:
        return Facts(tagged=(TaggedFact(urn("thing"), "thing", "aws", tags),))

    def installs(line: str, kind: str = "p5.48xlarge") -> Facts:
        return pools(pool(user_data=line, instance_types=(kind,)))

    return [
        Case("OPS001", "fail", pools(pool()), "nothing in this stack looks at the utilization"),
        Case("OPS001", "fail", watched(False), "nothing in this stack"),
        Case("OPS001", "pass", watched(True)),
        Case("OPS001", None, pools(pool(instance_types=("t3.micro",)))),
        Case("OPS001", "undecided", watched(LATER), "looks at"),
        Case("OPS002", "fail", tagged({"gpuyard:cluster": "a"}), "lacks the tag(s) gpuyard:environment"),
        Case("OPS002", "fail", tagged({}), "lacks the tag(s) owner", {"required_tags": ["owner"]}),
        Case("OPS002", "pass", tagged({"gpuyard:cluster": "a", "gpuyard:environment": "prod"})),
        Case("OPS002", "undecided", tagged(LATER), "what tags"),
        Case("OPS003", "fail", stored(protected=False), "is not protected"),
        Case("OPS003", "pass", stored()),
        Case("OPS003", "pass", stored(protected=False, scratch=True)),
        Case("OPS003", None, stored(protected=False), settings={"profile": "dev"}),
        Case("OPS003", "undecided", stored(protected=None), "the source does not say"),
        Case(
            "OPS004", "fail", pools(pool(image_pinned=False, image="resolve:ssm:/a")), "'resolve:ssm:/a', which changes"
        ),
        Case("OPS004", "pass", pools(pool())),
        Case("OPS004", "undecided", pools(pool(image_pinned=LATER)), "stays the same"),
        Case(
            "OPS005",
            "fail",
            installs("pip install torch==2.14.0+cu126", "p6-b200.48xlarge"),
            "B200-SXM-180GB needs CUDA",
        ),
        Case("OPS005", "pass", installs("pip install torch==2.14.0+cu126"), "knows the GPUs"),
        Case("OPS005", "pass", installs("apt-get update"), "no release of PyTorch"),
        Case("OPS005", "pass", pools(pool())),
        Case("OPS005", "undecided", installs("pip install torch==0.3"), "the catalog has no such build"),
        Case("OPS005", "undecided", pools(pool(user_data=LATER)), "install"),
        Case("OPS006", "fail", pools(pool(taints=())), "has GPUs and no taint"),
        Case("OPS006", "pass", pools(pool(taints=("nvidia.com/gpu",)))),
        Case("OPS006", None, pools(pool())),
        Case("OPS006", "undecided", pools(pool(taints=LATER)), "which taints"),
    ]


CASES = [*_fabric(), *_storage(), *_snapshots(), *_spot(), *_cost(), *_access(), *_operations()]
