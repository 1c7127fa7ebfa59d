"""Simulated providers for the real engine: every call that the engine makes of a cloud's provider."""

import os
import re
import threading
import time
from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from gpuyard.catalog import regions
from gpuyard.sandbox import behaviour
from gpuyard.sandbox.check import Failure, check_inputs, check_values
from gpuyard.sandbox.cloud import AlreadyExistsError, CloudResource, SimulatedCloud
from gpuyard.sandbox.diff import Change, changes
from gpuyard.sandbox.functions import look_up
from gpuyard.sandbox.schema import ResourceSchema, resource_schema
from gpuyard.sandbox.wire import UNKNOWN, from_struct, is_unknown, to_struct

LATENCY_VARIABLE = "GPUYARD_SANDBOX_LATENCY_MS"
# The place in a list that a property path goes through.
_PLACE = re.compile(r"\[[0-9]+\]")
_KINDS = {
    "add": (provider_pb2.PropertyDiff.ADD, provider_pb2.PropertyDiff.ADD_REPLACE),
    "delete": (provider_pb2.PropertyDiff.DELETE, provider_pb2.PropertyDiff.DELETE_REPLACE),
    "update": (provider_pb2.PropertyDiff.UPDATE, provider_pb2.PropertyDiff.UPDATE_REPLACE),
}


class SimulatedProvider(provider_pb2_grpc.ResourceProviderServicer):
    """One simulated provider process; the engine talks to it as to the cloud's own.

    Args:
        simulated: What exists.
        version: What it answers as its own version; the engine warns when that is older than an SDK's.
    """

    def __init__(self, simulated: SimulatedCloud, version: str) -> None:
        self._cloud = simulated
        self._version = version
        # Several providers of one program (one for each region, say) share this server; each has its own connection.
        self._regions: dict[str, str | None] = {}
        self._latency_s = float(os.environ.get(LATENCY_VARIABLE, "0")) / 1000
        self._import = threading.Lock()

    def Handshake(self, request: Any, context: Any) -> provider_pb2.ProviderHandshakeResponse:
        return provider_pb2.ProviderHandshakeResponse()

    def Attach(self, request: Any, context: Any) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=self._version)

    def CheckConfig(self, request: Any, context: Any) -> provider_pb2.CheckResponse:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> provider_pb2.DiffResponse:
        found = changes(from_struct(request.olds), from_struct(request.news))
        return _diff_response(found, {change.path for change in found if change.top == "region"})

    def Configure(self, request: Any, context: Any) -> provider_pb2.ConfigureResponse:
        region = from_struct(request.args).get("region")
        self._regions[context.peer()] = None if is_unknown(region) else region
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    def Invoke(self, request: Any, context: Any) -> provider_pb2.InvokeResponse:
        token, arguments = request.tok, from_struct(request.args)
        region = self._region_of(token, arguments, context)
        found = look_up(token, arguments, region, _partition(token, region))
        if found is None:
            reason = f"the sandbox does not simulate the function {token}"
            return provider_pb2.InvokeResponse(failures=[provider_pb2.CheckFailure(property="", reason=reason)])
        response = provider_pb2.InvokeResponse()
        # 'return' is a word of Python's: the field has no attribute of that name.
        getattr(response, "return").CopyFrom(to_struct(found))
        return response

    def Check(self, request: Any, context: Any) -> provider_pb2.CheckResponse:
        token = request.type or _token(request.urn)
        schema = self._schema(token)
        if schema is None:
            reason = f"the installed SDK has no resource type '{token}'"
            return provider_pb2.CheckResponse(failures=[provider_pb2.CheckFailure(property="", reason=reason)])
        inputs = from_struct(request.news)
        allowed = behaviour.behaviour(token).allowed
        failures = [*check_inputs(schema.inputs, inputs), *check_values(allowed, inputs)]
        if failures:
            return provider_pb2.CheckResponse(inputs=request.news, failures=[_failure(one) for one in failures])
        key = behaviour.behaviour(token).auto_name
        old_name = from_struct(request.olds).get(key or "")
        if key is not None and inputs.get(key) is None and old_name is not None:
            named = {key: old_name} if inputs.get(f"{key}Prefix") is None else {}
        else:
            named = behaviour.auto_name(token, schema, inputs, request.urn, request.randomSeed)
        return provider_pb2.CheckResponse(inputs=to_struct({**inputs, **named}))

    def Diff(self, request: Any, context: Any) -> provider_pb2.DiffResponse:
        old = from_struct(request.old_inputs if request.HasField("old_inputs") else request.olds)
        new = from_struct(request.news)
        return _diff_response(changes(old, new), behaviour.replacing(_token(request.urn), old, new))

    def Create(self, request: Any, context: Any) -> provider_pb2.CreateResponse:
        token, inputs = _token(request.urn), from_struct(request.properties)
        schema = self._required_schema(token, context)
        if request.preview:
            unknown = dict.fromkeys(behaviour.known_after_update(token, schema, inputs), UNKNOWN)
            key = behaviour.REGION_PROPERTIES.get(token.split(":")[0])
            known = {key: self._region_of(token, inputs, context)} if key in schema.output_names else {}
            return provider_pb2.CreateResponse(properties=to_struct({**unknown, **inputs, **known}))
        time.sleep(self._latency_s)
        region = self._region_of(token, inputs, context)
        made_id, outputs = behaviour.computed(token, schema, inputs, region, _partition(token, region))
        try:
            self._cloud.create(CloudResource(token, made_id, request.urn, inputs, outputs))
        except AlreadyExistsError as error:
            context.abort(grpc.StatusCode.ALREADY_EXISTS, str(error))
        time.sleep(self._latency_s)
        return provider_pb2.CreateResponse(id=made_id, properties=to_struct(outputs))

    def Read(self, request: Any, context: Any) -> provider_pb2.ReadResponse:
        found = self._cloud.read(_token(request.urn), request.id)
        if found is None:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(
            id=found.id, properties=to_struct(found.outputs), inputs=to_struct(found.inputs)
        )

    def Update(self, request: Any, context: Any) -> provider_pb2.UpdateResponse:
        token, inputs = _token(request.urn), from_struct(request.news)
        if request.preview:
            old = from_struct(request.olds)
            moving = {version: UNKNOWN for version in behaviour.VERSIONS if version in old}
            return provider_pb2.UpdateResponse(
                properties=to_struct({**behaviour.after_update(token, old, inputs), **moving})
            )
        time.sleep(self._latency_s)
        found = self._cloud.read(token, request.id)
        if found is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"{token} '{request.id}' does not exist in the simulated cloud")
            return provider_pb2.UpdateResponse()
        outputs = behaviour.after_update(token, found.outputs, inputs)
        self._cloud.update(CloudResource(token, found.id, found.urn, inputs, outputs))
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    def Delete(self, request: Any, context: Any) -> empty_pb2.Empty:
        time.sleep(self._latency_s)
        self._cloud.delete(_token(request.urn), request.id)
        return empty_pb2.Empty()

    def _schema(self, token: str) -> ResourceSchema | None:
        # The engine asks in parallel; the SDK's modules are imported by one thread at a time.
        with self._import:
            return resource_schema(token)

    def _required_schema(self, token: str, context: Any) -> ResourceSchema:
        schema = self._schema(token)
        if schema is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"the installed SDK has no resource type '{token}'")
            raise AssertionError
        return schema

    def _region_of(self, token: str, inputs: Mapping[str, Any], context: Any) -> str:
        package = token.split(":")[0]
        key = behaviour.REGION_PROPERTIES.get(package)
        region = inputs.get(key) if key else None
        if region and not is_unknown(region):
            return str(region)
        configured = self._regions.get(context.peer())
        if configured is None:
            own = f", or '{key}' of the resource" if key else ", or 'region' of the provider"
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"no region: set {package}:region{own}")
        return str(configured)


def _token(urn: str) -> str:
    return urn.split("::")[2].split("$")[-1]


def _partition(token: str, region: str) -> str:
    package = token.split(":")[0]
    known = regions(package).get(region)
    return known.partition if known else package


def _failure(failure: Failure) -> provider_pb2.CheckFailure:
    return provider_pb2.CheckFailure(property=failure.path, reason=failure.reason)


def _diff_response(found: list[Change], replaced: set[str]) -> provider_pb2.DiffResponse:
    causes = {change.path for change in found if any(_is_at(change, path) for path in replaced)}
    detailed = {
        change.path: provider_pb2.PropertyDiff(kind=_KINDS[change.kind][change.path in causes], inputDiff=True)
        for change in found
    }
    some = provider_pb2.DiffResponse.DIFF_SOME if found else provider_pb2.DiffResponse.DIFF_NONE
    return provider_pb2.DiffResponse(
        changes=some,
        diffs=list(dict.fromkeys(change.top for change in found)),
        replaces=list(dict.fromkeys(change.top for change in found if change.path in causes)),
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )


def _is_at(change: Change, path: str) -> bool:
    """Whether a change is of the property at a path, of something in it, or of what it is in."""
    here = _PLACE.sub("", change.path) + "."
    if path.endswith("[]"):
        return here == path.removesuffix("[]") + "."
    there = f"{path}."
    return here.startswith(there) or there.startswith(here)
