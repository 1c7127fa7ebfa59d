"""The JSON Schema of a stack file, made of the models: what an editor completes, explains and underlines.

It is written in draft 7, the dialect that the YAML language server knows best
(https://github.com/redhat-developer/yaml-language-server). It says what the models say about shape: keys, types, words
and limits. What follows from the catalog, or from two values together, only ``gpuyard check`` knows.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from gpuyard.spec.base import Cloud
from gpuyard.spec.models import ClusterSpec, NodePoolSpec
from gpuyard.spec.stack_file import CLUSTER_KEY, SHORT_CLUSTER_KEY
from gpuyard.spec.values import COUNT_MAX, Address, Cidr, Device

SCHEMA_PATH = Path("schemas", "stack.schema.json")
"""Where a project keeps it, below the project's folder."""

_DIALECT = "http://json-schema.org/draft-07/schema#"
_MARK = "# yaml-language-server: $schema="
_REAL = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
# Numbers and flags may be texts, as `pulumi config set` stores them; `values` says which texts.
_TEXT_FORMS = {
    "integer": rf"^[+-]?([0-9]+(\.0*)?|{_REAL}[eE][+-]?[0-9]+)$",
    "number": rf"^[+-]?{_REAL}([eE][+-]?[0-9]+)?$",
    "boolean": "^(true|false)$",
}
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum"}


def _validator(kind: Any) -> Any:
    return get_args(kind)[-1].func


# Texts that Python judges, and what the judgement comes to as a pattern.
_JUDGED = {
    _validator(Cidr): r"^([0-9]{1,3}(\.[0-9]{1,3}){3}(/[0-9.]+)?|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(/[0-9]{1,3})?)$",
    _validator(Address): r"^[^@\s]{1,64}@[^@\s]+\.[^@\s]+$",
    _validator(Device): r"^/dev/[a-z0-9]{3,16}$",
}
_fixed_or_range = NodePoolSpec.model_fields["nodes"].metadata[0].func


def stack_schema(examples: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """The JSON Schema of ``Pulumi.<stack>.yaml``.

    Args:
        examples: Values that an editor proposes, by the name of the key: ``{"gpu": ["A100-80GB", "A10"]}``. They allow
            nothing and forbid nothing.

    Returns:
        The schema as plain data. Keys of gpuyard's own part are closed; every other key of the file is free.
    """
    cluster: dict[str, Any] = ClusterSpec.model_json_schema(
        schema_generator=_Generator, ref_template="#/definitions/{model}"
    )
    parts: dict[str, Any] = cluster.pop("$defs")
    definitions = {"ClusterSpec": cluster, **parts}
    proposed = examples or {}
    for part in definitions.values():
        for key, schema in part["properties"].items():
            if key in proposed:
                schema["examples"] = list(proposed[key])
    reference = {"$ref": "#/definitions/ClusterSpec"}
    return {
        "$schema": _DIALECT,
        "title": "Stack file of gpuyard",
        "description": "One stack: Pulumi.<stack>.yaml with a cluster under config: gpuyard:cluster.",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "description": "Configuration of the stack: the cluster, and settings of providers.",
                "type": "object",
                "properties": {
                    CLUSTER_KEY: {**reference, "description": "The cluster."},
                    SHORT_CLUSTER_KEY: {**reference, "description": f"The same key as {CLUSTER_KEY}, written short."},
                    **{f"{cloud}:region": _provider_region(cloud, proposed) for cloud in get_args(Cloud)},
                },
                "oneOf": [{"required": [CLUSTER_KEY]}, {"required": [SHORT_CLUSTER_KEY]}],
            },
            **{key: {"description": text, "type": "string"} for key, text in _ENGINES_OWN.items()},
        },
        "definitions": definitions,
    }


def editor_line(stack_file: Path) -> str | None:
    """The first line of a stack file that tells an editor where its schema is.

    Args:
        stack_file: Where the stack file is, or will be.

    Returns:
        The comment, with a path relative to the file; None where neither the file's folder nor the one above it holds
        the schema.
    """
    folder = stack_file.resolve().parent
    for up, root in (("", folder), ("../", folder.parent)):
        if (root / SCHEMA_PATH).is_file():
            return f"{_MARK}{up}{SCHEMA_PATH.as_posix()}"
    return None


_ENGINES_OWN = {
    "encryptionsalt": "Salt of the passphrase that encrypts secrets; written by Pulumi.",
    "encryptedkey": "Key that encrypts secrets, itself encrypted; written by Pulumi.",
    "secretsprovider": "What encrypts secrets; written by Pulumi.",
}


def _provider_region(cloud: str, proposed: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    text = f"Region of the provider {cloud}: the cluster's own."
    examples = {"examples": list(proposed["region"])} if "region" in proposed else {}
    return {"description": text, "type": ["string", "null"], **examples}


class _Generator(GenerateJsonSchema):
    """pydantic's generator, and what it cannot know: other written forms, and judgements made in Python."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        made = super().generate_inner(schema)
        # Bounds on what a function has read keep pydantic's own names.
        for name, keyword in _BOUNDS.items():
            if name in made:
                made[keyword] = made.pop(name)
        return made

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        return _or_text(super().int_schema(schema))

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return _or_text(super().float_schema(schema))

    def bool_schema(self, schema: core_schema.BoolSchema) -> JsonSchemaValue:
        return _or_text(super().bool_schema(schema))

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        made = super().nullable_schema(schema)
        inner = made.get("anyOf", [made])[0]
        if "type" not in inner or "enum" in inner:
            return made
        kinds = inner["type"] if isinstance(inner["type"], list) else [inner["type"]]
        return {**inner, "type": [*kinds, "null"]}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if made.get("default", ...) is None:
            del made["default"]
        return made

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        made = super().dict_schema(schema)
        words = made.get("propertyNames", {}).get("enum")
        if words:
            del made["propertyNames"]
            value = made["additionalProperties"]
            return {**made, "properties": {str(word): value for word in words}, "additionalProperties": False}
        return {**made, "additionalProperties": False} if "patternProperties" in made else made

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        made = super().function_before_schema(schema)
        if schema["function"]["function"] is not _fixed_or_range:
            return made
        return {"anyOf": [_or_text({"type": "integer", "minimum": 1, "maximum": COUNT_MAX}), made]}

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> JsonSchemaValue:
        made = super().function_after_schema(schema)
        pattern = _JUDGED.get(cast(Any, schema["function"]["function"]))
        return made if pattern is None else {**made, "pattern": pattern}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        made.pop("title", None)
        for part in (made, *made["properties"].values()):
            if "description" in part:
                part["description"] = _without_markup(part["description"])
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _or_text(made: JsonSchemaValue) -> JsonSchemaValue:
    kind = made["type"]
    return {**made, "type": [kind, "string"], "pattern": _TEXT_FORMS[kind]}


def _without_markup(text: str) -> str:
    return re.sub("``([^`]+)``", r"'\1'", text)
