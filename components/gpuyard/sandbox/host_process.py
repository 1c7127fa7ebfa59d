"""The stand-in language host as a process of its own: what ``pulumi-language-python`` on PATH starts.

``python -m gpuyard.sandbox.host_process [options] ENGINE`` prints its port and serves until the engine ends it.
"""

import os
import signal
import sys
import threading
import time
from concurrent import futures
from types import FrameType

import grpc
from pulumi.runtime.proto import language_pb2_grpc

from gpuyard.sandbox.engine import VERSION
from gpuyard.sandbox.language_host import LanguageHost


def main() -> None:
    """Serve until told to end, or until the engine that started it is gone."""
    # Ctrl-C goes to the whole terminal; the engine ends its language host itself when it is done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    host = LanguageHost(VERSION)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    threading.Thread(target=_end_with_parent, args=(os.getppid(), host), daemon=True).start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)


def _end_with_parent(parent: int, host: LanguageHost) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    host.stop()
    os._exit(0)


if __name__ == "__main__":
    main()
