"""Resources of a stack as they are: a file that ``pulumi stack export`` wrote."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gpuyard.spec.problems import Problem, SpecError
from gpuyard_policy.sources.model import Place, Source
from gpuyard_policy.sources.stored import faulty, places_of, read_json, records_of, stack_of

# Versions of the export whose resources are written as this module reads them.
# Source: pulumi/pulumi, sdk/go/common/apitype/core.go (DeploymentV3, DeploymentV4 adds features and no other shape).
_VERSIONS = (3, 4)


def read_state(path: Path) -> Source:
    """The resources that exist.

    Args:
        path: File that ``pulumi stack export`` wrote; secrets stay unknown unless it was told ``--show-secrets``.

    Returns:
        The resources, without those that only wait to be deleted.

    Raises:
        SpecError: The file is no such export.
    """
    export = read_json(path)
    version, deployment = export.get("version"), export.get("deployment")
    resources: Any = cast(dict[str, Any], deployment).get("resources") if isinstance(deployment, dict) else None
    remedy = "Write it with: pulumi stack export --file FILE"
    if not isinstance(deployment, dict) or not isinstance(resources, list | None):
        raise SpecError([Problem((), "is no exported stack: it has no 'deployment'.", remedy, str(path), 1)])
    if version not in _VERSIONS:
        known = " and ".join(map(str, _VERSIONS))
        message = f"is an export of version {version}; {known} are understood."
        raise SpecError([Problem(("version",), message, remedy, str(path), 1)])
    listed = cast(list[Any], resources or [])
    problems = [
        Problem(("deployment", "resources", place), "is no resource.", "", str(path), 1)
        for place, one in enumerate(listed)
        if faulty(one)
    ]
    if problems:
        raise SpecError(problems)
    there = [cast(Mapping[str, Any], one) for one in listed if not one.get("delete")]
    waiting = len(listed) - len(there)
    return Source(
        name=next((stack_of(str(one["urn"])) for one in there), path.stem),
        records=records_of(there),
        places=places_of(there),
        place=Place(str(path), 1),
        final=True,
        notes=(f"{waiting} resources that wait to be deleted are left out.",) if waiting else (),
    )
