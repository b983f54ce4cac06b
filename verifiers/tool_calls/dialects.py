"""Tool schemas as datasets and services write them, as JSON Schema 2020-12.

In: the `parameters` of a tool. Out: the schema of an object, or `SchemaError`.

Read: BFCL's and others' type names (`dict`, `float`, `tuple`, `any`, `int, optional`, `List[int]`, Gemini's
upper case), a bare map of parameters, OpenAPI's `nullable`, older drafts' list `items` and boolean
`exclusiveMinimum`. A type name nobody knows constrains nothing. The structure is checked here because the
metaschema's own check takes milliseconds a tool.
"""

from __future__ import annotations

import re
from typing import Any

_TYPES = {
    "dict": "object", "object": "object", "hashmap": "object", "map": "object", "mapping": "object",
    "float": "number", "double": "number", "number": "number", "decimal": "number",
    "int": "integer", "integer": "integer", "long": "integer", "short": "integer", "byte": "integer",
    "str": "string", "string": "string", "char": "string",
    "bool": "boolean", "boolean": "boolean",
    "tuple": "array", "list": "array", "array": "array", "arraylist": "array", "set": "array",
    "null": "null", "none": "null", "nonetype": "null",
}  # fmt: skip

_ONE = frozenset(
    {"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames",
     "unevaluatedProperties", "unevaluatedItems"}
)  # fmt: skip
_LIST = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_MAP = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_NUMBER = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
     "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
)  # fmt: skip


class SchemaError(ValueError):
    """A schema cannot be used; says why."""


def object_schema(declared: object) -> dict[str, Any]:
    """`declared` as the schema of an object; a bare map of parameters becomes its properties.

    Raises:
        SchemaError: a keyword holds what it cannot hold.
    """
    if declared is None:
        return {"type": "object"}
    if not isinstance(declared, dict):
        raise SchemaError(f"parameters must be an object, not {type(declared).__name__}")
    if declared and all(map(_describes_parameter, declared.values())):
        declared = {"type": "object", "properties": declared}
    schema: dict[str, Any] = _standard({key: value for key, value in declared.items() if key != "$schema"})
    return schema


def _describes_parameter(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), str) for key in ("type", "description"))


def _standard(schema: Any) -> Any:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        raise SchemaError(f"a schema must be an object, not {type(schema).__name__}")
    result: dict[str, Any] = {}
    for key, value in _modern(schema).items():
        if key == "type":
            result.update(_types(value, schema.get("nullable") is True))
        elif key in _ONE:
            result[key] = _standard(value)
        elif key in _LIST:
            result[key] = [_standard(branch) for branch in _kind(key, value, list)]
        elif key in _MAP:
            result[key] = {name: _standard(branch) for name, branch in _kind(key, value, dict).items()}
        elif key == "required":
            result.update({key: value} if isinstance(value, list) else {})
        else:
            result[key] = _checked(key, value)
    return result


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with older drafts' spellings replaced."""
    result = dict(schema)
    if isinstance(schema.get("items"), list):
        result["prefixItems"] = result.pop("items")
        if "additionalItems" in result:
            result["items"] = result.pop("additionalItems")
    for exclusive, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool):
            del result[exclusive]
            if schema[exclusive] and limit in result:
                result[exclusive] = result.pop(limit)
    return result


def _types(declared: Any, nullable: bool) -> dict[str, Any]:
    names = [_type(name) for name in (declared if isinstance(declared, list) else [declared])]
    if not names or None in names:
        return {}
    return {"type": [*names, "null"] if nullable else names if len(names) > 1 else names[0]}


def _type(name: object) -> str | None:
    if not isinstance(name, str):
        raise SchemaError(f"a type must be a name, not {type(name).__name__}")
    return _TYPES.get(re.split(r"[,\[<]", name, maxsplit=1)[0].strip().casefold())


def _kind(key: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise SchemaError(f"{key} must be {'a list' if kind is list else 'an object'}")
    return value


def _checked(key: str, value: Any) -> Any:
    if key in _NUMBER and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise SchemaError(f"{key} must be a number")
    if key == "multipleOf" and value <= 0:
        raise SchemaError("multipleOf must be above 0")
    if key == "enum":
        return _kind(key, value, list)
    if key in ("pattern", "$ref") and not isinstance(value, str):
        raise SchemaError(f"{key} must be text")
    if key == "pattern":
        try:
            re.compile(value)
        except re.error as error:
            raise SchemaError(f"pattern {value[:40]!r}: {error}") from None
    return value
