"""``gpuyard catalog``: what the clouds rent, with sources; what is unknown is shown as unknown.

Wrong input raises SpecError, which ``main.run`` prints as one line; the exit code is 2 then.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gpuyard.catalog.selection import Wanted
from gpuyard.cli import catalog_lists as lists
from gpuyard.cli import catalog_prices as costs
from gpuyard.cli import catalog_views as views
from gpuyard.cli.catalog_output import catalog_format

catalog_app = typer.Typer(
    name="catalog",
    help="What GPUs, instance types and storage the clouds rent: dated facts with sources. '?' is unknown.",
    no_args_is_help=True,
)

Format = Annotated[str, typer.Option("--format", "-f", help="table, json or csv.", metavar="FORMAT")]
Clouds = Annotated[
    list[str] | None,
    typer.Option("--cloud", help="aws, alicloud or tencentcloud; may be repeated.", show_default="all"),
]
Prices = Annotated[
    Path | None, typer.Option("--prices", help="A price file of your own (JSON).", show_default="the package's")
]
TypeName = Annotated[str, typer.Argument(help="Name of an instance type.", show_default=False, metavar="TYPE")]


@catalog_app.command("list")
def list_types(
    cloud: Clouds = None,
    gpu: Annotated[str | None, typer.Option(help="A GPU's name or its class: A100-SXM4-80GB, A100-80GB, A100.")] = None,
    nvlink: Annotated[bool | None, typer.Option("--nvlink/--no-nvlink", help="GPUs joined by NVLink or not.")] = None,
    rdma: Annotated[bool | None, typer.Option("--rdma/--no-rdma", help="With an RDMA network or without.")] = None,
    min_vram: Annotated[float | None, typer.Option(help="Least memory of one GPU in GiB.", metavar="GIB")] = None,
    region: Annotated[str | None, typer.Option(help="Offered in this region.")] = None,
    bare_metal: Annotated[bool | None, typer.Option("--bare-metal/--virtual", help="Bare metal or virtual.")] = None,
    spot: Annotated[bool | None, typer.Option("--spot/--no-spot", help="Sold as spot or not.")] = None,
    output: Format = "table",
) -> None:
    """List instance types that are known to match; what cannot be told is counted below."""
    wanted = Wanted(
        clouds=tuple(cloud or ()),
        gpu=gpu,
        nvlink=nvlink,
        rdma=rdma,
        min_vram_gib=min_vram,
        region=region,
        bare_metal=bare_metal,
        spot=spot,
    )
    views.list_types(wanted, catalog_format(output))


@catalog_app.command()
def show(name: TypeName, prices: Prices = None, output: Format = "table") -> None:
    """Show everything about one instance type: facts, GPU, corrected claims, prices, sources."""
    views.show_type(name, prices, catalog_format(output), datetime.now(tz=UTC).date())


@catalog_app.command()
def compare(
    names: Annotated[list[str], typer.Argument(help="Names of instance types.", show_default=False, metavar="TYPE...")],
    output: Format = "table",
) -> None:
    """Set instance types side by side; '*' marks the facts that differ."""
    views.compare_types(names, catalog_format(output))


@catalog_app.command()
def topology(name: TypeName, output: Format = "table") -> None:
    """Draw a node: GPUs, NUMA nodes, PCIe switches and network cards, as far as known."""
    views.show_topology(name, catalog_format(output))


@catalog_app.command("gpus")
def list_gpus(
    name: Annotated[str | None, typer.Argument(help="A GPU's name or its class.", show_default="all")] = None,
    output: Format = "table",
) -> None:
    """List GPU models; with a name, show the models it covers in full."""
    views.list_gpus(name, catalog_format(output))


@catalog_app.command("prices")
def list_prices(
    items: Annotated[
        list[str] | None, typer.Argument(help="Items or parts of their names.", show_default="all", metavar="ITEM...")
    ] = None,
    cloud: Clouds = None,
    region: Annotated[str | None, typer.Option(help="Prices that hold in this region.")] = None,
    prices: Prices = None,
    output: Format = "table",
) -> None:
    """List dated prices with currency and source; old ones are marked."""
    costs.list_prices(
        tuple(items or ()), tuple(cloud or ()), region, prices, catalog_format(output), datetime.now(tz=UTC).date()
    )


@catalog_app.command()
def storage(
    cloud: Clouds = None,
    size: Annotated[int, typer.Option("--size", help="Size of the disk in GiB.", metavar="GIB")] = 1000,
    capacity: Annotated[
        int, typer.Option("--capacity", help="Capacity of the file system in GiB.", metavar="GIB")
    ] = 24000,
    output: Format = "table",
) -> None:
    """List block disks with their speed at a size, parallel file systems at a capacity, object storage."""
    lists.list_storage(tuple(cloud or ()), size, capacity, catalog_format(output))


@catalog_app.command()
def stack(
    pytorch: Annotated[
        str | None,
        typer.Option(help="A PyTorch release such as 2.3.", show_default="the whole table", metavar="RELEASE"),
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="A vendor image, to look up what it brings.", metavar="NAME")
    ] = None,
    driver: Annotated[str | None, typer.Option(help="Version of the NVIDIA driver.", metavar="VERSION")] = None,
    cuda: Annotated[
        list[str] | None, typer.Option(help="Version of an installed CUDA toolkit; may be repeated.", metavar="VERSION")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="A GPU that it must run on.")] = None,
    output: Format = "table",
) -> None:
    """Which driver, CUDA, cuDNN and NCCL a PyTorch release needs, and whether an image has them."""
    lists.show_stack(pytorch, image, driver, tuple(cuda or ()), gpu, catalog_format(output))
