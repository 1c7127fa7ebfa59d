"""The arguments that every Pulumi language sees are the spec's models again."""

from typing import Any

import pytest
from pydantic import BaseModel

from gpuyard.resources import args, part_args
from gpuyard.spec import models

PAIRS = [
    (part_args.PoolArgs, models.NodePoolSpec),
    (part_args.ScalingArgs, models.ScalingSpec),
    (part_args.SoftwareArgs, models.SoftwareSpec),
    (part_args.QueueScalingArgs, models.QueueScalingSpec),
    (part_args.ScheduledSizeArgs, models.ScheduledSizeSpec),
    (part_args.AwsNodePoolArgs, models.AwsNodePoolSpec),
    (part_args.AlicloudNodePoolArgs, models.AlicloudNodePoolSpec),
    (part_args.TencentcloudNodePoolArgs, models.TencentcloudNodePoolSpec),
    (part_args.PrepaidArgs, models.PrepaidSpec),
    (part_args.ReservationArgs, models.ReservationSpec),
    (part_args.FileSystemArgs, models.FileSystemSpec),
    (part_args.AwsFileSystemArgs, models.AwsFileSystemSpec),
    (part_args.AlicloudFileSystemArgs, models.AlicloudFileSystemSpec),
    (part_args.TencentcloudFileSystemArgs, models.TencentcloudFileSystemSpec),
    (part_args.CheckpointArgs, models.CheckpointSpec),
    (part_args.PrefixArgs, models.PrefixSpec),
    (part_args.SnapshotArgs, models.SnapshotSpec),
    (part_args.AwsSnapshotArgs, models.AwsSnapshotSpec),
    (part_args.AwsFastRestoreArgs, models.AwsFastRestoreSpec),
    (part_args.MonitoringArgs, models.MonitoringSpec),
    (part_args.BudgetArgs, models.BudgetSpec),
    (part_args.AccessArgs, models.AccessSpec),
    (part_args.NetworkArgs, models.NetworkSpec),
    (part_args.WorkloadArgs, models.WorkloadSpec),
]


def fields(given: Any) -> set[str]:
    return set(given.__required_keys__ | given.__optional_keys__)


@pytest.mark.parametrize(("given", "model"), PAIRS, ids=lambda one: one.__name__)
def test_arguments_have_the_fields_of_the_spec(given: Any, model: type[BaseModel]):
    assert fields(given) == set(model.model_fields)


@pytest.mark.parametrize(("given", "model"), PAIRS, ids=lambda one: one.__name__)
def test_arguments_need_what_the_spec_needs(given: Any, model: type[BaseModel]):
    assert given.__required_keys__ == {name for name, field in model.model_fields.items() if field.is_required()}


def test_a_clusters_arguments_have_every_field_of_the_spec():
    assert set(models.ClusterSpec.model_fields) <= fields(args.TrainingClusterArgs)


@pytest.mark.parametrize(
    ("component", "part"),
    [
        (args.ClusterNetworkArgs, models.NetworkSpec),
        (args.ClusterNetworkArgs, models.AccessSpec),
        (args.GpuNodePoolArgs, models.NodePoolSpec),
        (args.CheckpointStoreArgs, models.CheckpointSpec),
        (args.ParallelFileSystemArgs, models.FileSystemSpec),
        (args.SnapshotPolicyArgs, models.SnapshotSpec),
        (args.GpuMonitoringArgs, models.MonitoringSpec),
    ],
    ids=lambda one: one.__name__,
)
def test_a_components_arguments_hold_its_part_of_the_spec(component: Any, part: type[BaseModel]):
    assert set(part.model_fields) <= fields(component)
    assert fields(args.PlaceArgs) <= fields(component)


def test_every_spec_of_a_cluster_has_its_arguments():
    specs = {model for _, model in PAIRS} | {models.ClusterSpec}
    known = {one for one in vars(models).values() if isinstance(one, type) and one.__name__.endswith("Spec")}
    assert known == specs
