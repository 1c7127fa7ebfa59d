"""What the machine's cloud tells it over its metadata service, by each cloud's own protocol."""

import contextlib
import http.client
import re
import socket
import threading
import time
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

from gpuyard.node import settings

_LARGEST_BYTES = 65536
_TOKEN_SECONDS = 21600


class MetadataError(Exception):
    """The metadata service did not answer, or not in a way that can be understood."""


class Client:
    """One cloud's metadata service. No proxy is asked and no redirection followed: it is on the machine itself.

    ``GPUYARD_METADATA`` is another address, ``GPUYARD_METADATA_SECONDS`` the most that one request takes (3).

    Sources:
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html
        https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata
        https://www.tencentcloud.com/document/product/213/4934
    """

    def __init__(self, cloud: str) -> None:
        protocol = settings.cloud_module(cloud)
        address = urlsplit(settings.value("METADATA", protocol.BASE))
        self._host, self._port = address.hostname or "", address.port or 80
        self._seconds = settings.number("METADATA_SECONDS", 3)
        # The headers that ask for a token, telling how long it is to live, and that show it.
        self._headers: Tuple[str, ...] = protocol.TOKEN
        self._token = ""
        self._token_ends = 0.0

    def get(self, path: str) -> Optional[str]:
        """One item.

        Args:
            path: Its path below ``/latest/meta-data/``, or a whole one that begins with ``/``.

        Returns:
            Its text without surrounding space, None when the service knows no such item (404).

        Raises:
            MetadataError: Any other answer, or none in time.
        """
        whole = path if path.startswith("/") else "/latest/meta-data/" + path
        status, text = self._request("GET", whole, self._shown())
        if status in (401, 403) and self._headers:
            self._token = ""
            status, text = self._request("GET", whole, self._shown())
        if status == 404:
            return None
        if status != 200:
            raise MetadataError(f"{whole} answered with status {status}")
        return text

    def must(self, path: str) -> str:
        """One item that every machine has; an error where it is missing or empty."""
        found = self.get(path)
        if not found:
            raise MetadataError(f"{path} is missing")
        return found

    def _shown(self) -> Dict[str, str]:
        if not self._headers:
            return {}
        if not self._token or time.monotonic() > self._token_ends:
            status, text = self._request("PUT", "/latest/api/token", {self._headers[0]: str(_TOKEN_SECONDS)})
            if status != 200 or not re.match(r"[\x21-\x7e]+\Z", text):
                raise MetadataError(f"a token was asked for, and the answer with status {status} is none")
            self._token, self._token_ends = text, time.monotonic() + _TOKEN_SECONDS * 0.9
        return {self._headers[1]: self._token}

    def _request(self, method: str, path: str, headers: Dict[str, str]) -> Tuple[int, str]:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=self._seconds)
        late = threading.Event()
        held: List[Any] = []

        # A timeout of the socket counts from byte to byte: a service that drips would hold us for ever.
        def give_up() -> None:
            late.set()
            for one in held:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

        watch = threading.Timer(self._seconds, give_up)
        watch.daemon = True
        watch.start()
        try:
            connection.connect()
            held.append(connection.sock)
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            text = answer.read(_LARGEST_BYTES).decode().strip()
            if late.is_set() or answer.read(1):
                raise ValueError(f"the answer has no end within {_LARGEST_BYTES} bytes")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise MetadataError(f"{path}: {'no answer in time' if late.is_set() else error}") from error
        finally:
            watch.cancel()
            connection.close()
        return answer.status, text
