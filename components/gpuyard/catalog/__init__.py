"""What the clouds really offer: dated, sourced facts and the queries over them."""

from gpuyard.catalog.gpus import Gpu, gpu_models_named, gpus
from gpuyard.catalog.instance_types import (
    InstanceType,
    find_instance_types,
    instance_type,
    instance_types,
)
from gpuyard.catalog.regions import Region, regions, zone_belongs_to
from gpuyard.catalog.storage import (
    FileSystemType,
    NodeImage,
    file_system_types,
    node_images,
)

__all__ = [
    "FileSystemType",
    "Gpu",
    "InstanceType",
    "NodeImage",
    "Region",
    "file_system_types",
    "find_instance_types",
    "gpu_models_named",
    "gpus",
    "instance_type",
    "instance_types",
    "node_images",
    "regions",
    "zone_belongs_to",
]
