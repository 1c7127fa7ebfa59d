"""A Python language host for engines that come without one.

An official Pulumi CLI ships ``pulumi-language-python``; one built from the Go module alone does not. This stand-in
speaks the same protocol (``LanguageRuntime``) for what gpuyard needs: running a program, a policy pack and a
component plugin, each in the virtual environment that its own project file names. The sandbox also attaches it to the
engine in-process, to run a program without a second interpreter.

Source of the protocol: pulumi/pulumi, proto/pulumi/language.proto; of how a policy pack is started: the SDK's own
``python -m pulumi.policy``; of a component plugin: sdk/python/cmd/pulumi-language-python, which runs its folder.
"""

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import grpc
from google.protobuf import empty_pb2
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

Program = Callable[[], None]


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """The language runtime's calls.

    Args:
        version: Version that the host answers as its own.
        program: A program to run in this process instead of the project's; None runs the project's in its own
            virtual environment.
        root_directory: The project's root, for a program in this process.
    """

    def __init__(self, version: str, program: Program | None = None, root_directory: str | None = None) -> None:
        self._version = version
        self._program = program
        self._root_directory = root_directory
        self._children: set[subprocess.Popen[bytes]] = set()
        self._engine_address = ""

    def Handshake(self, request: Any, context: Any) -> language_pb2.LanguageHandshakeResponse:
        self._engine_address = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=self._version)

    def About(self, request: Any, context: Any) -> language_pb2.AboutResponse:
        return language_pb2.AboutResponse(executable=sys.executable, version=sys.version.split()[0])

    def GetRequiredPlugins(self, request: Any, context: Any) -> language_pb2.GetRequiredPluginsResponse:
        return language_pb2.GetRequiredPluginsResponse()

    def GetRequiredPackages(self, request: Any, context: Any) -> language_pb2.GetRequiredPackagesResponse:
        return language_pb2.GetRequiredPackagesResponse()

    def RuntimeOptionsPrompts(self, request: Any, context: Any) -> language_pb2.RuntimeOptionsResponse:
        return language_pb2.RuntimeOptionsResponse()

    def GetProgramDependencies(self, request: Any, context: Any) -> language_pb2.GetProgramDependenciesResponse:
        return language_pb2.GetProgramDependenciesResponse()

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[language_pb2.InstallDependenciesResponse]:
        # The environment that the project file names was made by `make setup`; nothing is installed here.
        yield from ()

    def Run(self, request: Any, context: Any) -> language_pb2.RunResponse:
        if self._program is not None:
            return run_program(self._program, request, self._root_directory)
        return self._run_in_own_environment(request)

    def RunPlugin(self, request: Any, context: Any) -> Iterator[language_pb2.RunPluginResponse]:
        directory = request.info.program_directory
        started_by = {
            "analyzer": ["-m", "pulumi.policy", *request.args, directory],
            "resource": [directory, *request.args],
        }.get(request.kind)
        if started_by is None:
            reason = f"the stand-in language host runs no plugins of kind '{request.kind}'"
            context.abort(grpc.StatusCode.UNIMPLEMENTED, reason)
            return
        command = [_python_of(request.info), "-u", *started_by]
        environment = {**os.environ, **dict(pair.split("=", 1) for pair in request.env if "=" in pair)}
        yield from self._streamed(command, request.pwd or directory, environment, context)

    def Cancel(self, request: Any, context: Any) -> empty_pb2.Empty:
        self.stop()
        return empty_pb2.Empty()

    def stop(self) -> None:
        """End every child at once; one that lingers keeps the engine waiting."""
        for child in list(self._children):
            child.kill()

    def _run_in_own_environment(self, request: Any) -> language_pb2.RunResponse:
        command = [_python_of(request.info), "-m", "gpuyard.sandbox.program", self._engine_address]
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            cwd=request.pwd or request.info.program_directory,
            start_new_session=True,
        )
        self._children.add(child)
        child.communicate(request.SerializeToString())
        self._children.discard(child)
        if child.returncode == 0:
            return language_pb2.RunResponse()
        # The program has logged its own error to the engine.
        return language_pb2.RunResponse(bail=True)

    def _streamed(
        self, command: list[str], directory: str, environment: Mapping[str, str], context: Any
    ) -> Iterator[language_pb2.RunPluginResponse]:
        child = subprocess.Popen(
            command,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C is the engine's to handle: it ends its plugins itself.
            start_new_session=True,
        )
        self._children.add(child)
        context.add_callback(child.kill)
        lines: queue.Queue[language_pb2.RunPluginResponse | None] = queue.Queue()
        readers = [
            threading.Thread(target=_forward, args=(stream, name, lines), daemon=True)
            for stream, name in ((child.stdout, "stdout"), (child.stderr, "stderr"))
        ]
        for reader in readers:
            reader.start()
        for _ in range(2):
            while (line := lines.get()) is not None:
                yield line
        self._children.discard(child)
        yield language_pb2.RunPluginResponse(exitcode=child.wait())


def run_program(program: Program, request: Any, root_directory: str | None) -> language_pb2.RunResponse:
    """Run a program in this process as the SDK runs an inline one.

    Args:
        program: The program.
        request: The engine's request, with stack, configuration and the monitor's address.
        root_directory: The project's root.

    Returns:
        An empty response, or one with the program's error.
    """
    from pulumi.automation._server import LanguageServer  # pyright: ignore[reportPrivateImportUsage]
    from pulumi.runtime import settings

    def rooted() -> None:
        # The SDK's server does not pass the project's root on.
        cast(Any, settings.SETTINGS).root_directory = root_directory or request.info.root_directory
        program()

    return cast(Any, LanguageServer(rooted)).Run(request, None)


def _python_of(info: Any) -> str:
    """The interpreter that a project file names by its virtualenv option, else the host's own."""
    options = MessageToDict(info.options)
    virtualenv = options.get("virtualenv")
    if not virtualenv:
        return sys.executable
    root = Path(info.root_directory or info.program_directory)
    python = root / str(virtualenv) / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"the virtual environment {python.parent.parent} does not exist: run 'make setup'")
    return str(python)


def _forward(stream: IO[bytes], name: str, lines: "queue.Queue[language_pb2.RunPluginResponse | None]") -> None:
    for line in iter(stream.readline, b""):
        response = language_pb2.RunPluginResponse()
        setattr(response, name, line)
        lines.put(response)
    lines.put(None)
