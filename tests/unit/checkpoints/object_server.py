"""OSS and COS on loopback: their REST as far as checkpoints need it, with paging, ranges, errors and signatures."""

import base64
import hashlib
import hmac
import re
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

KEY_ID, SECRET = "id-of-a-test", "secret-of-a-test"


@dataclass
class Stored:
    data: bytes
    written: float = field(default_factory=time.time)


class ObjectServer(ThreadingHTTPServer):
    """One bucket.

    Attributes:
        token: When set, requests must carry it beside their signature, as those with temporary credentials do.
        page: How many entries a listing gives at most.
        stuck: Keys that a deletion of many does not delete.
        breaks: How many of the next downloads break off in their middle.
        refusals: HTTP status and code with which the next requests are refused.
        requests: Method and path with query of every request.
    """

    daemon_threads = True

    def __init__(self, service: str, bucket: str) -> None:
        super().__init__(("127.0.0.1", 0), _OssHandler if service == "oss" else _CosHandler)
        self.bucket = bucket
        self.objects: dict[str, Stored] = {}
        self.token: str | None = None
        self.page = 3
        self.stuck: set[str] = set()
        self.breaks = 0
        self.refusals: list[tuple[int, str]] = []
        self.requests: list[tuple[str, str]] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is none of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: ObjectServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm, wbufsize = True, -1
    date_header = token_header = md5_header = ""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815

    def _answer(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path))
        parts = urlsplit(self.path)
        self.key = unquote(parts.path[1:])
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if self.server.refusals:
            return self._refuse(*self.server.refusals.pop(0))
        bucket = self.headers["Host"].partition(".")[0]
        if bucket != self.server.bucket:
            return self._refuse(404, "NoSuchBucket")
        if self.server.token != self.headers.get(self.token_header):
            return self._refuse(403, "InvalidAccessKeyId")
        if not self._is_signed():
            return self._refuse(403, "SignatureDoesNotMatch")
        if self.command == "POST" and "delete" in self.query:
            return self._delete_many()
        if self.command == "GET" and not self.key:
            return self._list()
        return self._object()

    def _object(self) -> None:
        objects = self.server.objects
        if self.command == "PUT":
            objects[self.key] = Stored(self.body)
            return self._send(200, b"")
        if self.command == "DELETE":
            objects.pop(self.key, None)
            return self._send(204, b"")
        found = objects.get(self.key)
        if found is None:
            return self._refuse(404, "NoSuchKey")
        start = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        data = found.data[int(start[1]) :] if start else found.data
        if self.server.breaks and self.command == "GET" and len(data) > 1:
            self.server.breaks -= 1
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return None
        return self._send(206 if start else 200, data, "application/octet-stream")

    def _listing(self, after: str) -> tuple[list[str], str]:
        """Entries of a page as XML, and the key or folder after which the next page begins."""
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        encode = quote if self.query.get("encoding-type") == "url" else escape
        entries: dict[str, str] = {}
        for key in sorted(self.server.objects):
            if not key.startswith(prefix):
                continue
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                name = prefix + rest.split(delimiter)[0] + delimiter
                entries[name] = f"<CommonPrefixes><Prefix>{encode(name)}</Prefix></CommonPrefixes>"
            else:
                one = self.server.objects[key]
                written = datetime.fromtimestamp(one.written, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
                entries[key] = (
                    f"<Contents><Key>{encode(key)}</Key><LastModified>{written}</LastModified><ETag>&quot;x&quot;</ETag>"
                    f"<Type>Normal</Type><Size>{len(one.data)}</Size><StorageClass>Standard</StorageClass></Contents>"
                )
        names = [name for name in entries if name > after]
        page = names[: min(self.server.page, int(self.query.get("max-keys", "1000")))]
        return [entries[name] for name in page], page[-1] if len(page) < len(names) else ""

    def _keys_to_delete(self) -> tuple[list[str], list[str]]:
        """Keys of a request that deletes many: those that are gone now, and those that are stuck."""
        if self.headers[self.md5_header] != base64.b64encode(hashlib.md5(self.body).digest()).decode():
            raise ValueError("the body is not what was signed")
        keys = [one.text or "" for one in ElementTree.fromstring(self.body).iter("Key")]
        gone = [key for key in keys if key not in self.server.stuck]
        for key in gone:
            self.server.objects.pop(key, None)
        return gone, [key for key in keys if key in self.server.stuck]

    def _refuse(self, status: int, code: str) -> None:
        text = f"<Error><Code>{code}</Code><Message>said the test</Message><RequestId>1</RequestId>"
        host = self.headers["Host"]
        self._send(status, f"{_HEAD}{text}<HostId>{host}</HostId><Resource>{host}</Resource></Error>".encode())

    def _send(self, status: int, data: bytes, kind: str = "application/xml") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _list(self) -> None:
        raise NotImplementedError

    def _delete_many(self) -> None:
        raise NotImplementedError

    def _is_signed(self) -> bool:
        raise NotImplementedError


class _OssHandler(_Handler):
    """https://www.alibabacloud.com/help/en/oss/developer-reference/list-objects-v2 and its neighbours."""

    token_header, md5_header = "x-oss-security-token", "Content-MD5"

    def _list(self) -> None:
        assert self.query["list-type"] == "2"
        entries, more = self._listing(self.query.get("continuation-token", ""))
        token = f"<NextContinuationToken>{escape(more)}</NextContinuationToken>" if more else ""
        kind = f"<EncodingType>{self.query['encoding-type']}</EncodingType>" if "encoding-type" in self.query else ""
        self._send(200, _document("ListBucketResult", kind, _truncated(more), token, *entries))

    def _delete_many(self) -> None:
        gone, _ = self._keys_to_delete()
        deleted = [f"<Deleted><Key>{quote(key)}</Key></Deleted>" for key in gone]
        self._send(200, _document("DeleteResult", "<EncodingType>url</EncodingType>", *deleted))

    def _is_signed(self) -> bool:
        """https://www.alibabacloud.com/help/en/oss/developer-reference/recommend-to-use-signature-version-4."""
        asked = re.fullmatch(
            r"OSS4-HMAC-SHA256 Credential=([^/]+)/((\d{8})/([\w-]+)/oss/aliyun_v4_request),Signature=(\w{64})",
            self.headers.get("Authorization", ""),
        )
        if not asked or asked[1] != KEY_ID or asked[4] != "cn-hangzhou":
            return False
        signed = {key.lower(): text for key, text in self.headers.items()}
        signed = {
            key: text
            for key, text in signed.items()
            if key.startswith("x-oss-") or key in ("content-type", "content-md5")
        }
        query = sorted(pair.rstrip("=") for pair in urlsplit(self.path).query.split("&") if pair)
        canonical = "\n".join(
            [
                self.command,
                quote(f"/{self.server.bucket}/{self.key}"),
                "&".join(query),
                *(f"{key}:{text}" for key, text in sorted(signed.items())),
                "",
                "",
                signed["x-oss-content-sha256"],
            ]
        )
        to_sign = "\n".join(
            ["OSS4-HMAC-SHA256", signed["x-oss-date"], asked[2], hashlib.sha256(canonical.encode()).hexdigest()]
        )
        key = f"aliyun_v4{SECRET}".encode()
        for part in (asked[3], asked[4], "oss", "aliyun_v4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.digest(key, to_sign.encode(), "sha256").hex() == asked[5]


class _CosHandler(_Handler):
    """https://cloud.tencent.com/document/product/436/7734 and its neighbours."""

    token_header, md5_header = "x-cos-security-token", "Content-MD5"

    def _list(self) -> None:
        assert self.query["encoding-type"] == "url"
        entries, more = self._listing(self.query.get("marker", ""))
        marker = f"<NextMarker>{quote(more)}</NextMarker>" if more else ""
        kind = "<EncodingType>url</EncodingType>"
        self._send(200, _document("ListBucketResult", kind, _truncated(more), marker, *entries))

    def _delete_many(self) -> None:
        _, stuck = self._keys_to_delete()
        failed = [
            f"<Error><Key>{escape(key)}</Key><Code>AccessDenied</Code><Message>stuck</Message></Error>" for key in stuck
        ]
        self._send(200, _document("DeleteResult", *failed))

    def _is_signed(self) -> bool:
        """https://cloud.tencent.com/document/product/436/7778."""
        asked = dict(pair.split("=", 1) for pair in self.headers.get("Authorization", "").split("&") if "=" in pair)
        if asked.get("q-ak") != KEY_ID or asked.get("q-sign-algorithm") != "sha1":
            return False
        start, end = (int(one) for one in asked["q-key-time"].split(";"))
        headers = {key.lower(): text for key, text in self.headers.items()}
        # The port is no part of the host in production.
        headers["host"] = headers["host"].partition(":")[0]

        def listed(names: str, values: dict[str, str]) -> str:
            pairs = [(name, quote(values[unquote(name)], "-_.~")) for name in names.split(";") if name]
            return "&".join(f"{name}={text}" for name, text in pairs)

        http = "\n".join(
            [
                self.command.lower(),
                f"/{self.key}",
                listed(asked["q-url-param-list"], self.query),
                listed(asked["q-header-list"], headers),
                "",
            ]
        )
        to_sign = f"sha1\n{asked['q-sign-time']}\n{hashlib.sha1(http.encode()).hexdigest()}\n"
        key = hmac.digest(SECRET.encode(), asked["q-key-time"].encode(), "sha1").hex()
        right = hmac.digest(key.encode(), to_sign.encode(), "sha1").hex()
        return start <= time.time() <= end and right == asked["q-signature"]


_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def _truncated(more: str) -> str:
    return f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>"


def _document(name: str, *inner: str) -> bytes:
    return f"{_HEAD}<{name}>{''.join(inner)}</{name}>".encode()
