"""Starting a job on several nodes: hosts, commands and configuration from a pool's plan."""

from gpuyard.planning.launch.commands import LAUNCHERS, Launcher, placeholders
from gpuyard.planning.launch.files import LAUNCH_SCRIPT, launch_files, stage_problems
from gpuyard.planning.launch.job import LaunchJob, host_problems, launch_job
from gpuyard.planning.launch.outputs import launch_outputs

__all__ = [
    "LAUNCHERS",
    "LAUNCH_SCRIPT",
    "LaunchJob",
    "Launcher",
    "host_problems",
    "launch_files",
    "launch_job",
    "launch_outputs",
    "placeholders",
    "stage_problems",
]
