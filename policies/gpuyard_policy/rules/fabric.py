"""Rules about what joins GPUs and nodes."""

from collections.abc import Iterable

from gpuyard.catalog import instance_type
from gpuyard_policy.facts import NodePoolFact, Unknown
from gpuyard_policy.rules.rule import Context, Finding, Rule, Verdict, everywhere

TRAINING_TASKS = ("pretrain", "full_finetune", "lora", "rl", "vision")
ONE_JOB_ON_ALL_NODES = ("pretrain", "full_finetune")


def _nvlink(context: Context) -> Iterable[Finding]:
    facts = context.facts
    untold = [pool for pool in facts.node_pools if context.task_of(pool.tags) is None]
    if untold:
        names = ", ".join(sorted(pool.name for pool in untold)[:5]) + (" ..." if len(untold) > 5 else "")
        message = f"no work is known for {len(untold)} pool(s) ({names}): "
        remedy = f"tag them '{context.config.task_tag}', or set 'task' for the pack."
        yield context.finding(Verdict.UNDECIDED, None, message + remedy)
    for pool in facts.node_pools:
        task = context.task_of(pool.tags)
        if task is None:
            continue
        verdict, message = _judge_pool(pool, task)
        yield context.finding(verdict, pool.urn, message)


def _judge_pool(pool: NodePoolFact, task: str | Unknown) -> tuple[Verdict, str]:
    if isinstance(task, Unknown):
        return Verdict.UNDECIDED, f"cannot tell yet what pool '{pool.name}' is for: {task.why}."
    if task not in TRAINING_TASKS:
        return Verdict.PASS, f"'{task}' is no training."
    if isinstance(pool.instance_types, Unknown):
        return (
            Verdict.UNDECIDED,
            f"cannot tell yet what machines pool '{pool.name}' has: {pool.instance_types.why}.",
        )
    open_questions: list[str] = []
    for name in pool.instance_types:
        verdict, why = _judge_type(pool, task, name)
        if verdict is Verdict.FAIL:
            return verdict, why
        if verdict is Verdict.UNDECIDED:
            open_questions.append(why)
    if open_questions:
        return Verdict.UNDECIDED, " ".join(open_questions)
    return Verdict.PASS, f"{', '.join(pool.instance_types)}: joined by NVLink, or one GPU for a job."


def _judge_type(pool: NodePoolFact, task: str, name: str) -> tuple[Verdict, str]:
    row = instance_type(pool.cloud, name)
    if row is None:
        return (
            Verdict.UNDECIDED,
            f"cannot tell: pool '{pool.name}' has {name}, which the catalog does not know.",
        )
    if row.gpu_count is None:
        return Verdict.UNDECIDED, f"cannot tell: the catalog does not know how many accelerators {name} has."
    if row.gpu_count > 1:
        if row.has_nvlink is None:
            return (
                Verdict.UNDECIDED,
                f"cannot tell: the catalog does not know how {name} joins its {row.gpu_count} {row.gpu_model}.",
            )
        if not row.has_nvlink:
            message = (
                f"pool '{pool.name}' trains ({task}) on {name}, whose {row.gpu_count} × {row.gpu_model} are joined by "
                f"{row.gpu_interconnect} only: gradients would crawl between them."
            )
            return (
                Verdict.FAIL,
                f"{message} Use a type with NVLink or NVSwitch, such as p4d.24xlarge, or one GPU a job.",
            )
        return Verdict.PASS, ""
    if task not in ONE_JOB_ON_ALL_NODES or pool.nodes_max == 1:
        return Verdict.PASS, ""
    if isinstance(pool.nodes_max, Unknown) or pool.nodes_max is None:
        return Verdict.UNDECIDED, f"cannot tell yet how many {name} of one GPU pool '{pool.name}' has."
    message = (
        f"pool '{pool.name}' spreads one job ({task}) over up to {pool.nodes_max} × {name} of one GPU each, with no "
        "NVLink anywhere between its GPUs."
    )
    return Verdict.FAIL, f"{message} Use whole nodes of 8 GPUs with NVSwitch, such as p4d.24xlarge."


RULES = (
    Rule(
        id="FAB001",
        name="multi-gpu-training-needs-nvlink",
        family="fabric",
        title="Training on several GPUs needs NVLink or NVSwitch between them.",
        severity="high",
        levels=everywhere("mandatory"),
        rationale=(
            "Every step exchanges all gradients between the GPUs of a job. PCIe moves some 30 to 60 GB/s between two "
            "GPUs and shares it; NVLink moves 300 to 1800 GB/s for each. Without it most of what is paid for waits."
        ),
        remedy="Choose an instance type whose GPUs are joined by NVLink or NVSwitch, or give each job one GPU.",
        check=_nvlink,
    ),
)
