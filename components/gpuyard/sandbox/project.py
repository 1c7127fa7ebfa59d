"""A Pulumi project: its file, its program, and the files of its stacks."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of

# What a program in YAML consists of: https://www.pulumi.com/docs/iac/languages-sdks/yaml/yaml-language-reference/
_YAML_PROGRAM = ("variables", "resources", "outputs")


@dataclass(frozen=True)
class Project:
    """A Pulumi project: its folder, name, program, and the folder of its stack files."""

    root: Path
    name: str
    program: Path
    stack_folder: Path
    settings: Mapping[str, Any]

    @property
    def runtime(self) -> str:
        """Name of the language that its program is written in; python when it names none."""
        runtime: Any = self.settings.get("runtime", "python")
        return str(cast(dict[str, Any], runtime).get("name") if isinstance(runtime, dict) else runtime)

    def settings_elsewhere(self, hosts: Mapping[str, Path]) -> dict[str, Any]:
        """The settings for a copy of the project's file: folders are named by their whole path.

        Args:
            hosts: Language hosts by their language, for the engine not to look for them.

        Returns:
            The settings. Stack files are beside the copy, and a program in YAML is read where it is.

        Raises:
            SpecError: Packages or plugins are written otherwise than under their names.
        """
        settings = {key: value for key, value in self.settings.items() if key not in ("stackConfigDir", *_YAML_PROGRAM)}
        settings["main"] = str(self.program.resolve())
        if self.runtime == "python":
            settings["runtime"] = {"name": "python", "options": {"virtualenv": str(Path(sys.prefix).resolve())}}
        settings["packages"] = {name: self._package(one) for name, one in self._mapping("packages").items()}
        plugins = {kind: [self._plugin(one) for one in several] for kind, several in self._mapping("plugins").items()}
        languages = [{"name": language, "path": str(host.parent)} for language, host in hosts.items()]
        settings["plugins"] = {**plugins, "languages": [*plugins.get("languages", []), *languages]}
        return settings

    def _mapping(self, key: str) -> dict[str, Any]:
        found: Any = self.settings.get(key)
        if found is not None and not isinstance(found, dict):
            raise SpecError([Problem((key,), "should be a mapping of keys to values.", "", str(self.root))])
        return cast(dict[str, Any], found or {})

    def _package(self, source: Any) -> Any:
        """A package; one that is a folder, as one that begins with a dot is, by its whole path."""
        if isinstance(source, dict):
            spec = cast(dict[str, Any], source)
            return {**spec, "source": self._package(spec.get("source"))}
        return str((self.root / source).resolve()) if isinstance(source, str) and source.startswith(".") else source

    def _plugin(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {**options, "path": str((self.root / str(options["path"])).resolve())}

    def stack_file(self, stack: str) -> Path:
        """Where a stack's file is.

        Raises:
            SpecError: There is none; the message lists those that there are.
        """
        path = self.stack_folder / f"Pulumi.{stack}.yaml"
        if path.is_file():
            return path
        known = self.stacks()
        hint = did_you_mean(stack, known)
        have = f"Stacks: {one_of(known)}." if known else f"There are no stack files in {self.stack_folder}."
        raise SpecError([Problem((), f"there is no stack '{stack}'.", f"{hint} {have}".strip())])

    def stacks(self) -> list[str]:
        """Names of the stacks that have a file."""
        return sorted(path.name[7:-5] for path in self.stack_folder.glob("Pulumi.*.yaml"))


def read_project(root: Path) -> Project:
    """The project in a folder; all its paths are absolute.

    Raises:
        SpecError: There is no usable ``Pulumi.yaml``.
    """
    path = root / "Pulumi.yaml"
    try:
        settings: Any = cast(Any, YAML(typ="safe")).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        hint = "Run it in the folder of a Pulumi project."
        raise SpecError([Problem((), f"cannot be read: {error.strerror}.", hint, str(path))]) from None
    except (YAMLError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise SpecError([Problem((), f"is not valid YAML: {why}.", "", str(path))]) from None
    root = root.resolve()
    known = cast(dict[str, Any], settings) if isinstance(settings, dict) else {}
    if not isinstance(known.get("name"), str):
        raise SpecError([Problem((), "is no Pulumi project file: it has no 'name'.", "", str(path), 1)])
    return Project(
        root=root,
        name=known["name"],
        program=root / str(known.get("main", ".")),
        stack_folder=root / str(known.get("stackConfigDir", ".")),
        settings=known,
    )
