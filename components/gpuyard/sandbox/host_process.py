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

_WIND_DOWN_S = 3600


def main() -> None:
    """Serve until told to end, or until the engine that started it is gone."""
    host = LanguageHost(VERSION)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))

    def finish(number: int, frame: FrameType | None) -> None:
        # Ctrl-C goes to the whole terminal, and the engine winds down with what it has running here. An engine that is
        # done with its host interrupts it as well, and waits 5 s for one that stays.
        threading.Thread(target=server.stop, args=(_WIND_DOWN_S,), daemon=True).start()

    signal.signal(signal.SIGINT, finish)
    signal.signal(signal.SIGTERM, _end)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    threading.Thread(target=_end_with_parent, args=(os.getppid(), host), daemon=True).start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()
    os._exit(0)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)


def _end_with_parent(parent: int, host: LanguageHost) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    host.stop()
    os._exit(0)


if __name__ == "__main__":
    main()
