"""Run one Pulumi program in the interpreter of its own virtual environment, for the stand-in language host.

``python -m gpuyard.sandbox.program ENGINE`` reads the engine's serialized request from standard input.
"""

import runpy
import sys

from pulumi.runtime.proto import language_pb2

from gpuyard.sandbox.language_host import run_program


def main() -> int:
    """Run the program; the exit code is 1 when it failed, with the error logged to the engine."""
    request = language_pb2.RunRequest()
    request.ParseFromString(sys.stdin.buffer.read())
    request.args.insert(0, sys.argv[1])
    directory, entry = request.info.program_directory, request.info.entry_point
    path = directory if entry in ("", ".") else f"{directory}/{entry}"
    sys.path.insert(0, directory)
    response = run_program(lambda: _run(path), request, request.info.root_directory)
    return 1 if response.error else 0


def _run(path: str) -> None:
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    sys.exit(main())
