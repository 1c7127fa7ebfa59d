"""Facts of a plan in a few words each, as they stand on a card of the picture."""

from collections.abc import Iterator

from gpuyard.planning.plans import (
    BucketPlan,
    FileSystemPlan,
    MonitoringPlan,
    NetworkPlan,
    NodePoolPlan,
    PrefixPlan,
    SnapshotPlan,
)

_UNKNOWN = "?"


def size_words(pool: NodePoolPlan) -> str:
    """How many nodes a pool has."""
    least, most = pool.min_nodes, pool.max_nodes
    text = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    return f"{text} node{'' if most == 1 else 's'}"


def counted(number: int, what: str) -> str:
    """A number of things: ``1 pool``, ``1,000 nodes``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def pool_facts(pool: NodePoolPlan) -> tuple[str, ...]:
    """Machine, GPUs, network and how it is bought."""
    return tuple(_pool_facts(pool))


def _pool_facts(pool: NodePoolPlan) -> Iterator[str]:
    row, more = pool.instance_type, len(pool.instance_types) - 1
    others = "" if not more else f" and {more} more type{'s' if more > 1 else ''}"
    yield f"{row.instance_type}{others}"
    nvlink = ""
    if row.has_nvlink:
        rate = row.nvlink_gb_per_s_per_gpu
        nvlink = ", NVLink" if rate is None else f", NVLink {rate:,.0f} GB/s"
    models = sorted({str(one.gpu_model) for one in pool.instance_types if one.gpu_model is not None})
    yield f"{_number(row.gpu_count)} × {' or '.join(models) or 'GPU of unknown model'}{nvlink}"
    if pool.kind != "rdma":
        least = "from " if more else "up to " if row.network_burst else ""
        yield f"network {least}{_number(row.network_gbps)} Gbps, no RDMA used"
    yield ", ".join(_bought(pool))
    disks = [f"root {pool.root_disk.size_gib:,} GiB"]
    if pool.data_disk is not None:
        disks.append(f"data {pool.data_disk.size_gib:,} GiB")
    yield f"disks: {', '.join(disks)}{', local scratch' if pool.scratch else ''}"


def _bought(pool: NodePoolPlan) -> Iterator[str]:
    yield pool.purchase.replace("_", " ") + (f" {pool.prepaid_months} months" if pool.prepaid_months else "")
    if pool.on_demand_nodes:
        yield f"{pool.on_demand_nodes:,} on demand"
    if pool.spare_nodes:
        yield f"{pool.spare_nodes:,} spare"
    if pool.clustered:
        yield "close together"
    if all(row.bare_metal is True for row in pool.instance_types):
        yield "bare metal"


def file_system_facts(plan: FileSystemPlan) -> tuple[str, ...]:
    """Kind, size and speed."""
    rate = _UNKNOWN if plan.throughput_mb_per_s is None else f"{plan.throughput_mb_per_s:,.0f}"
    lustre = "" if plan.lustre_version is None else f"Lustre {plan.lustre_version} "
    kept = "replicated" if plan.persistent else "scratch: short work only"
    backups = "no backups" if not plan.backup_keep_days else f"backups {plan.backup_keep_days} days"
    return (
        f"{lustre}{plan.type_name}",
        f"{plan.capacity_gib:,} GiB, {rate} MB/s{', over RDMA' if plan.rdma else ''}",
        f"{kept}, {backups}",
    )


def sync_words(plan: FileSystemPlan) -> str:
    """Which way a file system and its linked bucket follow each other."""
    return " and ".join(word for word, on in (("export", plan.exports), ("import", plan.imports)) if on)


def bucket_facts(plan: BucketPlan) -> tuple[str, ...]:
    """Each prefix with how long it is kept."""
    return tuple(_prefix(prefix) for prefix in plan.prefixes)


def _prefix(plan: PrefixPlan) -> str:
    tiers = "".join(f", {one.storage_class} after {one.after_days:,}" for one in plan.transitions)
    return f"{plan.prefix}/: {plan.keep_days:,} days{tiers}"


def schedule_words(plan: SnapshotPlan) -> tuple[str, ...]:
    """When snapshots are made, and how long they are kept."""
    if plan.cron is not None:
        when = plan.cron
    elif plan.every_hours is not None:
        when = f"every {plan.every_hours} h"
    else:
        when = f"at {', '.join(f'{hour:02}:00' for hour in plan.hours_utc)} UTC"
        when += f" on {', '.join(plan.weekdays)}" if plan.weekdays else ""
    kept = f"the newest {plan.keep_count:,} kept" if plan.keep_days is None else f"kept {plan.keep_days:,} days"
    return (when, kept)


def monitoring_facts(plan: MonitoringPlan) -> tuple[str, ...]:
    """What is watched, and what becomes of it."""
    return tuple(_monitoring_facts(plan))


def _monitoring_facts(plan: MonitoringPlan) -> Iterator[str]:
    minutes = plan.period_seconds * plan.utilization_periods // 60
    yield f"GPUs below {plan.gpu_utilization_below_percent} % for {minutes:,} min"
    yield f"GPU memory above {plan.gpu_memory_above_percent} %"
    told = len(plan.notify)
    addresses = f"{told} address{'' if told == 1 else 'es'}" if told else "nobody: no address given"
    yield f"tells {addresses}{', dashboard' if plan.dashboard else ''}"
    if plan.budget_amount is not None:
        yield f"budget {plan.budget_currency} {plan.budget_amount:,.0f} a month"


def network_words(plan: NetworkPlan) -> str:
    """The network's addresses, and who may come in."""
    ssh = f"SSH from {', '.join(plan.ssh_from)}" if plan.ssh_from else "no way in from outside"
    return f"network {plan.cidr}: {ssh}"


def egress_words(plan: NetworkPlan) -> tuple[str, ...]:
    """How nodes reach what is outside of their network."""
    if plan.nat == "none":
        return ("endpoints of the cloud only,", "no way to the internet")
    zones = len(plan.subnets)
    if plan.nat == "shared" and zones > 1:
        return (f"one NAT gateway for {zones} zones",)
    return ("a NAT gateway in each zone" if zones > 1 else "a NAT gateway",)


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,.10g}"
