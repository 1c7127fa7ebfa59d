"""A resource monitor that answers a program as the engine does in a first preview, and writes down what it asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from google.protobuf import empty_pb2
from pulumi import RunError
from pulumi.runtime import mocks
from pulumi.runtime._callbacks import _CallbackServicer  # pyright: ignore[reportPrivateUsage]
from pulumi.runtime.proto import engine_pb2, resource_pb2
from pulumi.runtime.sync_await import _sync_await  # pyright: ignore[reportPrivateUsage]

from gpuyard.sandbox.wire import UNKNOWN, from_struct, to_struct
from gpuyard_policy.facts import Record
from gpuyard_policy.sources.lookups import answer
from gpuyard_policy.sources.stored import PROVIDER, default_provider
from gpuyard_policy.sources.values import LATER, plain_properties

STACK = "pulumi:pulumi:Stack"
# Severities of the engine's log that people are to see.
_SEEN = (engine_pb2.WARNING, engine_pb2.ERROR)
# Outputs that every cloud gives as text, and that programs put into policies and user data.
_GIVEN_LATER = (
    "arn",
    "bucket",
    "dnsName",
    "fileSystemId",
    "fsId",
    "mountIp",
    "mountName",
    "mountTargetDomain",
    "name",
    "protocolServiceId",
    "url",
)


@dataclass(frozen=True)
class Asked:
    """One resource that the program asked for.

    Attributes:
        record: What it is.
        parent: URN of its parent; empty for none.
        frames: The program's own calls, the innermost first: file and line.
    """

    record: Record
    parent: str
    frames: tuple[tuple[str, int], ...]


class RecordingMonitor(mocks.MockMonitor):
    """The monitor's calls that a program makes; what it asks for is kept in ``asked`` by URN.

    Ids and what only a cloud computes are unknown, as in the first preview of a stack. Where the program is to run on
    nevertheless, ids, ARNs and addresses are stand-ins: a property that is one of them becomes an Unknown, while a
    policy or a script that holds one among others can be read. Transforms run, as they do in the engine: first a
    resource's own, then its parents', then the stack's.

    Args:
        project: Name of the project.
        stack: Name of the stack.
        config: The stack's configuration, from which default providers have their settings.
        stand_ins: Whether ids, ARNs and addresses are stand-ins; otherwise they are unknown.
    """

    def __init__(self, project: str, stack: str, config: Mapping[str, Any], *, stand_ins: bool = False) -> None:
        # The base class serves unit tests; of it only the calls that answer nothing are used.
        super().__init__(cast(Any, None))
        self.asked: dict[str, Asked] = {}
        self.notes: list[str] = []
        self._prefix = f"urn:pulumi:{stack}::{project}::"
        self._config = config
        self._stand_ins = stand_ins
        self._providers: dict[str, Mapping[str, Any]] = {}
        self._defaults: dict[str, Mapping[str, Any]] = {}
        self._transforms: dict[str, Sequence[Any]] = {}
        self._of_the_stack: list[Any] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the protocol's own name
        """A resource that the program asks for: it will be made as it stands, with an id that nobody knows yet."""
        urn = self._urn(request.parent, request.type, request.name)
        if urn in self.asked:
            raise RunError(f"two resources of type {request.type} are called '{request.name}'")
        self._transforms[urn] = tuple(request.transforms)
        if request.type != STACK:
            self._transform(request, urn)
        inputs = from_struct(request.object)
        props = plain_properties(inputs)
        if request.type.startswith(PROVIDER):
            self._providers[urn] = props
        record = Record(
            urn=urn,
            type=request.type,
            name=request.name,
            props=props,
            depends_on={key: tuple(of.urns) for key, of in request.propertyDependencies.items()},
            provider=self._provider_of(request),
            protect=bool(request.protect),
        )
        if request.type != STACK:
            self.asked[urn] = Asked(record, request.parent, _frames(request.stackTrace))
        if request.remote:
            what = f"'{request.name}' ({request.type}) is made outside Python, and what it makes cannot be seen here."
            self.notes.append(f"{what} Check the engine's own preview: gpuyard check --plan.")
        response = resource_pb2.RegisterResourceResponse(urn=urn, object=request.object)
        if self._stand_ins and request.custom and not request.type.startswith(PROVIDER):
            response.id = LATER
            for key in _GIVEN_LATER:
                if key not in request.object.fields:
                    response.object[key] = LATER
        return response

    def ReadResource(self, request: Any) -> Any:  # noqa: N802
        """A look-up of a resource that exists: what it is like is not known here, and it is not of this stack."""
        properties = from_struct(request.properties)
        if request.type == "pulumi:pulumi:StackReference":
            properties |= {"outputs": UNKNOWN, "secretOutputNames": []}
        urn = self._urn(request.parent, request.type, request.name)
        return resource_pb2.ReadResourceResponse(urn=urn, properties=to_struct(properties))

    def Invoke(self, request: Any) -> Any:  # noqa: N802
        """A look-up by a function of a provider."""
        region = self._provider_of(request).get("region")
        known = answer(request.tok, from_struct(request.args), region if isinstance(region, str) else None)
        response = resource_pb2.ResourceInvokeResponse()
        # 'return' is a word of Python's: the field has no attribute of that name.
        getattr(response, "return").CopyFrom(to_struct(known))
        return response

    def Call(self, request: Any) -> Any:  # noqa: N802
        """A method of a component in another language: nobody here can run it."""
        raise RunError(f"the method {request.tok} runs outside Python: check the engine's preview with --plan")

    def RegisterStackTransform(self, request: Any) -> Any:  # noqa: N802
        """A transform of every resource to come."""
        self._of_the_stack.append(request)
        return empty_pb2.Empty()

    def RegisterStackInvokeTransform(self, request: Any) -> Any:  # noqa: N802
        """A transform of every look-up to come."""
        self.notes.append("The program transforms look-ups; that is not done here.")
        return empty_pb2.Empty()

    def _urn(self, parent: str, kind: str, name: str) -> str:
        of_parent = parent.split("::")[2] if parent else STACK
        qualified = kind if of_parent == STACK else f"{of_parent}${kind}"
        return f"{self._prefix}{qualified}::{name}"

    def _provider_of(self, request: Any) -> Mapping[str, Any]:
        named = self._providers.get(str(request.provider).rsplit("::", 1)[0])
        if named is not None:
            return named
        package = str(getattr(request, "type", "") or getattr(request, "tok", "")).split(":")[0]
        if package not in self._defaults:
            self._defaults[package] = default_provider(package, self._config)
        return self._defaults[package]

    def _transform(self, request: Any, urn: str) -> None:
        callbacks = list(self._transforms[urn])
        parent = request.parent
        while parent in self.asked:
            callbacks += self._transforms.get(parent, ())
            parent = self.asked[parent].parent
        for callback in (*callbacks, *self._of_the_stack):
            self._run_transform(request, callback.token)

    def _run_transform(self, request: Any, token: str) -> None:
        servers: list[Any] = cast(Any, _CallbackServicer)._servicers  # noqa: SLF001
        run = next(server._callbacks[token] for server in servers if token in server._callbacks)  # noqa: SLF001
        options = resource_pb2.TransformResourceOptions(protect=request.protect, provider=request.provider)
        asked = resource_pb2.TransformRequest(
            type=request.type,
            name=request.name,
            custom=request.custom,
            parent=request.parent,
            properties=request.object,
            options=options,
        )
        answered: Any = _sync_await(run(asked.SerializeToString()))
        request.object.CopyFrom(answered.properties)
        if answered.HasField("options"):
            request.protect = answered.options.protect
            request.provider = answered.options.provider


class ListeningEngine:
    """The engine's calls that a program makes beside the monitor's: what it logs for people is kept in ``said``."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def Log(self, request: Any) -> Any:  # noqa: N802
        """A message of the program."""
        if request.severity in _SEEN and not request.ephemeral:
            self.said.append(request.message)
        return empty_pb2.Empty()

    def RequirePulumiVersion(self, request: Any) -> Any:  # noqa: N802
        """A version that the program asks of the engine: here is none that could be too old."""
        return engine_pb2.RequirePulumiVersionResponse()


def _frames(trace: Any) -> tuple[tuple[str, int], ...]:
    return tuple((frame.pc.uri, frame.pc.line) for frame in trace.frames if frame.pc.uri)
