"""``gpuyard plan``: what hardware a workload needs, and why.

Wrong input raises SpecError, which ``main.run`` prints as one line for each problem; the exit code is 2 then.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from gpuyard.catalog.prices import PriceBook
from gpuyard.cli.catalog_output import note
from gpuyard.cli.plan_input import all_of, parse_options, plan_format
from gpuyard.cli.plan_view import print_plan_json, show_plan
from gpuyard.planning.workload import plan_workload

_WORK, _MODEL, _TRAINING, _SERVING, _PLACE, _FILE = (
    "The work",
    "The model's shape",
    "Training",
    "Serving",
    "Where, and at what price",
    "The stack file",
)


def _option(group: str, text: str, metavar: str, *names: str) -> Any:
    # Numbers come as text: the planner's own checks then tell every problem of a command together.
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=group, show_default=False)


def plan(
    context: typer.Context,
    task: Annotated[
        str | None, _option(_WORK, "pretrain, full_finetune, lora, rl, vision or inference. Must be given.", "TASK")
    ] = None,
    parameters: Annotated[str | None, _option(_WORK, "Parameters of the model, such as 70e9.", "NUMBER")] = None,
    model: Annotated[str | None, _option(_WORK, "A published model instead, such as llama-3-70b.", "NAME")] = None,
    architecture: Annotated[str | None, _option(_WORK, "transformer (default) or diffusion.", "KIND")] = None,
    tokens: Annotated[str | None, _option(_WORK, "Tokens to train on, such as 1e12.", "NUMBER")] = None,
    target_days: Annotated[
        str | None, _option(_WORK, "Days in which the training should end. Default: 30, or as --gpus gives.", "DAYS")
    ] = None,
    precision: Annotated[
        str | None, _option(_WORK, "bf16, fp16, fp8 or fp32. Default: each GPU's best.", "NAME")
    ] = None,
    allow_interruptions: Annotated[
        bool, typer.Option("--interruptible", help="Nodes may be taken away (spot).", rich_help_panel=_WORK)
    ] = False,
    sharding: Annotated[
        str | None, _option(_TRAINING, "none, zero1, zero2, zero3 or fsdp. Default: the least that fits.", "KIND")
    ] = None,
    recomputation: Annotated[
        str | None, _option(_TRAINING, "Activations: none, selective or full. Default: the fastest.", "KIND")
    ] = None,
    sequence_length: Annotated[str | None, _option(_TRAINING, "Tokens of one sequence.", "TOKENS")] = None,
    micro_batch: Annotated[str | None, _option(_TRAINING, "Sequences of one forward pass. Default: 1.", "N")] = None,
    global_batch: Annotated[str | None, _option(_TRAINING, "Sequences of one step on all GPUs.", "N")] = None,
    utilization: Annotated[
        str | None, _option(_TRAINING, "Share of the dense tensor rate that training reaches, 0 to 1.", "SHARE")
    ] = None,
    lora_rank: Annotated[str | None, _option(_TRAINING, "Rank of LoRA adapters. Default: 16.", "N")] = None,
    checkpoint_pause_share: Annotated[
        str | None, _option(_TRAINING, "Share of the time for writing checkpoints. Default: 0.05.", "SHARE")
    ] = None,
    image_size: Annotated[str | None, _option(_TRAINING, "Edge of an image, for vision.", "PIXELS")] = None,
    patch_size: Annotated[str | None, _option(_TRAINING, "Edge of a patch, for vision.", "PIXELS")] = None,
    quantization_bits: Annotated[
        str | None, _option(_SERVING, "Bits of a weight that is not trained: 4, 8 or 16 (also for lora).", "BITS")
    ] = None,
    kv_cache_bits: Annotated[str | None, _option(_SERVING, "Bits of a cached key or value: 8 or 16.", "BITS")] = None,
    context_length: Annotated[str | None, _option(_SERVING, "Tokens of prompt and answer.", "TOKENS")] = None,
    concurrent_sequences: Annotated[
        str | None, _option(_SERVING, "Sequences served at a time by all replicas.", "N")
    ] = None,
    server_image_gb: Annotated[str | None, _option(_SERVING, "Size of the server's container image.", "GB")] = None,
    layers: Annotated[str | None, _option(_MODEL, "Layers, with --hidden-size and --heads.", "N")] = None,
    hidden_size: Annotated[str | None, _option(_MODEL, "Hidden size.", "N")] = None,
    heads: Annotated[str | None, _option(_MODEL, "Attention heads.", "N")] = None,
    kv_heads: Annotated[str | None, _option(_MODEL, "Key-value heads.", "N")] = None,
    vocabulary: Annotated[str | None, _option(_MODEL, "Size of the vocabulary.", "N")] = None,
    gpu: Annotated[str | None, _option(_PLACE, "Only this GPU: A100-80GB, A100, H100 ...", "NAME")] = None,
    gpus: Annotated[str | None, _option(_PLACE, "Number of GPUs to use.", "N")] = None,
    clouds: Annotated[
        list[str] | None,
        _option(_PLACE, "aws, alicloud or tencentcloud; may be repeated. Default: all.", "CLOUD", "--cloud"),
    ] = None,
    regions: Annotated[
        list[str] | None, _option(_PLACE, "A region; may be repeated. Default: all.", "REGION", "--region")
    ] = None,
    prices: Annotated[
        Path | None, _option(_PLACE, "A price file of your own (JSON). Default: the package's prices.", "FILE")
    ] = None,
    output: Annotated[str, _option(_PLACE, "text (default) or json.", "FORMAT", "--format", "-f")] = "text",
    every: Annotated[
        bool, typer.Option("--all", help="Show every candidate and near miss.", rich_help_panel=_PLACE)
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add every reason, assumption and source.", rich_help_panel=_PLACE)
    ] = False,
    write: Annotated[
        Path | None, _option(_FILE, "Write a stack file for the best candidate: stacks/Pulumi.NAME.yaml.", "PATH")
    ] = None,
    zone: Annotated[str | None, _option(_FILE, "Zone of the nodes, such as us-east-1a. With --write.", "ZONE")] = None,
    environment: Annotated[str | None, _option(_FILE, "dev (default), staging or prod. With --write.", "NAME")] = None,
    name: Annotated[
        str | None, _option(_FILE, "Name in front of every resource. Default: the stack's. With --write.", "NAME")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that exists. With --write.", rich_help_panel=_FILE)
    ] = False,
) -> None:
    """Plan a workload: memory, layout, fabric, storage, time, and the instance types that have what it needs."""
    # What plans a whole stack is loaded by this command alone.
    from gpuyard.cli.plan_write import target_of, write_stack_file

    # The parameters that are named like the request's fields are the request; a test holds the two together.
    wanted, form, target, book = all_of(
        lambda: parse_options(context.params),
        lambda: plan_format(output),
        lambda: target_of(write, zone=zone, environment=environment, name=name, force=force),
        lambda: PriceBook.load(prices),
    )
    request = wanted if target is None else target.narrowed(wanted)
    today = datetime.now(tz=UTC).date()
    found = plan_workload(request, prices=book, on=today)
    if form == "json":
        print_plan_json(found)
    else:
        show_plan(found, book.origin, every=every, explain=explain)
    if target is not None:
        for line in write_stack_file(found, target, today):
            note(line)
