"""Rules about what is watched, tagged, kept and pinned."""

import re
from collections.abc import Iterable

from gpuyard.catalog import gpus, instance_type
from gpuyard.catalog.software import PyTorchBuild, builds_of, check_build, image_contents
from gpuyard_policy.facts import NodePoolFact, StorageFact
from gpuyard_policy.facts.model import TaggedFact, Unknown
from gpuyard_policy.rules.judging import (
    Answer,
    CannotTellError,
    each,
    failed,
    has_gpus,
    known,
    on_each,
    on_pools,
    passed,
    types_of,
)
from gpuyard_policy.rules.rule import Context, Finding, Rule, everywhere, stricter

# A release of PyTorch that a script pins, with the CUDA of the build where one is named.
_TORCH = re.compile(r"\btorch\s*==\s*(\d+\.\d+)(?:\.\d+)?(?:\+cu(\d{2,3}))?")
_CUDA_INDEX = re.compile(r"download\.pytorch\.org/whl/cu(\d{2,3})")


def _watched(context: Context) -> Iterable[Finding]:
    watching: set[str] = set()
    unknown: dict[str, Unknown] = {}
    for alarm in context.facts.alarms:
        if isinstance(alarm.watches_gpus, Unknown):
            unknown[alarm.cloud] = alarm.watches_gpus
        elif alarm.watches_gpus:
            watching.add(alarm.cloud)

    def judge(_: Context, pool: NodePoolFact) -> Answer:
        if not has_gpus(pool):
            return None
        if pool.cloud in watching:
            return passed("an alarm or dashboard looks at the utilization of GPUs.")
        if pool.cloud in unknown:
            known(unknown[pool.cloud], "what an alarm or dashboard of this stack looks at")
        return failed(
            f"nothing in this stack looks at the utilization of the GPUs of pool '{pool.name}': idle ones cost as much "
            "as busy ones, and nobody sees it. Add an alarm or a dashboard on it."
        )

    return each(context, context.facts.node_pools, judge)


def _judge_tags(context: Context, item: TaggedFact) -> Answer:
    required = context.config.required_tags
    tags = known(item.tags, f"what tags '{item.name}' has")
    missing = [key for key in required if tags.get(key) in (None, "")]
    if not missing:
        return passed("it has every required tag.")
    message = f"'{item.name}' lacks the tag(s) {', '.join(missing)}: its cost and its owner cannot be found"
    return failed(f"{message}. Add them, or default tags of the provider.")


def _judge_protected(_: Context, item: StorageFact) -> Answer:
    if item.protected is None:
        raise CannotTellError(f"cannot tell whether {item.kind} '{item.name}' is protected: the source does not say.")
    if item.protected or item.scratch is True:
        return passed("protected, or scratch.")
    return failed(
        f"{item.kind} '{item.name}' is not protected: a renamed resource or a `destroy` deletes its data. Set "
        "'protect=True' in its resource options."
    )


def _judge_pinned(_: Context, pool: NodePoolFact) -> Answer:
    if known(pool.image_pinned, f"whether the image of pool '{pool.name}' stays the same"):
        return passed("the image stays until somebody names another.")
    image = "no image" if pool.image is None else f"'{pool.image}'" if isinstance(pool.image, str) else "its image"
    return failed(
        f"pool '{pool.name}' names {image}, which changes by itself: the next node has another driver than the others. "
        "Name the image by id, or a release."
    )


def _judge_software(_: Context, pool: NodePoolFact) -> Answer:
    if pool.user_data is None:
        return passed("its nodes install nothing by themselves.")
    script = known(pool.user_data, f"what nodes of pool '{pool.name}' install")
    match = _TORCH.search(script)
    if match is None:
        return passed("no release of PyTorch is pinned in its user data.")
    release, cuda = match.group(1), _cuda_of(match.group(2) or _index_of(script))
    builds = [one for one in builds_of(release) if (one.on_pypi if cuda is None else one.cuda == cuda)]
    wanted = f"PyTorch {release}" + ("" if cuda is None else f" for CUDA {cuda}")
    if not builds:
        raise CannotTellError(
            f"cannot tell whether {wanted} works in pool '{pool.name}': the catalog has no such build."
        )
    return _judge_build(pool, wanted, builds[0])


def _index_of(script: str) -> str | None:
    match = _CUDA_INDEX.search(script)
    return None if match is None else match.group(1)


def _cuda_of(digits: str | None) -> str | None:
    return None if digits is None else f"{digits[:-1]}.{digits[-1]}"


def _judge_build(pool: NodePoolFact, wanted: str, build: PyTorchBuild) -> Answer:
    contents = image_contents().get(pool.image) if isinstance(pool.image, str) else None
    driver = None if contents is None else contents.driver
    open_questions: list[str] = []
    for name in types_of(pool):
        row = instance_type(pool.cloud, name)
        gpu = None if row is None else gpus().get(row.gpu_model or "")
        answer = check_build(build, driver=driver, gpu=gpu)
        if False in (answer.gpu_supported, answer.runs):
            why = " ".join(answer.reasons)
            return failed(
                f"{wanted} in the user data of pool '{pool.name}' does not work on {name}: {why} `gpuyard catalog "
                "pytorch` lists builds."
            )
        if answer.gpu_supported is None:
            open_questions.append(f"whether {wanted} knows the GPU of {name}")
    if open_questions:
        raise CannotTellError(f"cannot tell {' and '.join(open_questions)} (pool '{pool.name}').")
    return passed(f"{wanted} knows the GPUs of {', '.join(types_of(pool))}, as far as the catalog says.")


def _judge_taints(_: Context, pool: NodePoolFact) -> Answer:
    if pool.taints is None or not has_gpus(pool):
        return None
    if known(pool.taints, f"which taints pool '{pool.name}' has"):
        return passed("pods without GPUs stay away.")
    return failed(
        f"Kubernetes pool '{pool.name}' has GPUs and no taint: any pod fills its nodes, and keeps them from shrinking. "
        "Add one, such as nvidia.com/gpu."
    )


RULES = (
    Rule(
        id="OPS001",
        name="gpu-utilization-is-watched",
        family="operations",
        title="An alarm or dashboard looks at the utilization of GPUs.",
        severity="medium",
        levels=stricter("advisory", "advisory", "mandatory"),
        rationale=(
            "The dearest part of the cluster stands still without any error: a data loader, a hung rank, a full disk."
        ),
        remedy="Add an alarm on low GPU utilization, or a dashboard that shows it.",
        check=_watched,
        example=("alarms on CPU alone", "an alarm on nvidia_smi_utilization_gpu"),
    ),
    Rule(
        id="OPS002",
        name="required-tags",
        family="operations",
        title="Every resource has the required tags.",
        severity="low",
        levels=everywhere("advisory"),
        rationale="Costs are split by tags, rules find what belongs together by them, and so do people at night.",
        remedy="Set them once, as default tags of the provider. 'required_tags' says which.",
        check=on_each(lambda facts: facts.tagged, _judge_tags),
        example=("no tags", "gpuyard:cluster and gpuyard:environment"),
    ),
    Rule(
        id="OPS003",
        name="production-data-is-protected",
        family="operations",
        title="In production, file systems and buckets are protected from deletion.",
        severity="high",
        levels=stricter("disabled", "advisory", "mandatory"),
        rationale="Some changes replace a file system: the engine deletes the old one, with everything in it.",
        remedy="Set 'protect=True' in the resource options.",
        check=on_each(lambda facts: facts.storage, _judge_protected),
        example=("a bucket without protect", "ResourceOptions(protect=True)"),
    ),
    Rule(
        id="OPS004",
        name="node-image-is-pinned",
        family="operations",
        title="The image of nodes is pinned.",
        severity="medium",
        levels=stricter("advisory", "advisory", "mandatory"),
        rationale="A new image brings another driver or NCCL: nodes of one job differ, and hang or get slower.",
        remedy="Name the image by id or by release, and change it on purpose.",
        check=on_pools(_judge_pinned),
        example=("resolve:ssm:/aws/service/... or $Latest", "ami-0123456789abcdef0"),
    ),
    Rule(
        id="OPS005",
        name="pytorch-cuda-and-driver-fit",
        family="operations",
        title="PyTorch, CUDA, driver and GPU work together.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale=(
            "A build without code for a GPU, or newer than its driver, ends with 'no kernel image' after the nodes run."
        ),
        remedy="Choose another build or image; `gpuyard catalog stack` says which work.",
        check=on_pools(_judge_software),
        example=("torch==1.12.1 on H100", "torch==2.8.0 on H100"),
    ),
    Rule(
        id="OPS006",
        name="kubernetes-gpu-pools-have-a-taint",
        family="operations",
        title="Kubernetes pools with GPUs have a taint.",
        severity="medium",
        levels=stricter("advisory", "advisory", "mandatory"),
        rationale=(
            "Without one, ordinary pods take processors and memory of the dearest nodes, and the autoscaler keeps them."
        ),
        remedy="Add a taint, and tolerations where GPUs are asked for.",
        check=on_pools(_judge_taints),
        example=("a GPU node group without taints", "taint nvidia.com/gpu=true:NoSchedule"),
    ),
)
