"""A tool's parameter schema: read with other dialects' type names, checked, and used for types and defaults.

In: the `parameters` of a tool. Out: `Parameters`, which validates arguments, gives bare text its type and
knows defaults.

Validation is the jsonschema library's, imported on first use, with the keywords replaced that raise or
are wrong on numbers models write (`multipleOf`) or quadratic in what they write (`uniqueItems`), with 5.0
an integer in every draft, and with no reference ever fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from verifiers.tool_calls.call import Flaw, Text
from verifiers.tool_calls.compare import identity
from verifiers.tool_calls.json_text import NotJson, loads
from verifiers.tool_calls.python_literals import literal

MAX_REFERENCES = 16
"""Steps along `$ref` before a schema counts as circular."""

_TYPES = {
    "dict": "object", "object": "object", "hashmap": "object", "map": "object", "mapping": "object",
    "float": "number", "double": "number", "number": "number", "decimal": "number",
    "int": "integer", "integer": "integer", "long": "integer", "short": "integer", "byte": "integer",
    "str": "string", "string": "string", "char": "string",
    "bool": "boolean", "boolean": "boolean",
    "tuple": "array", "list": "array", "array": "array", "arraylist": "array", "set": "array",
    "null": "null", "none": "null",
}  # fmt: skip
_SUBSCHEMAS = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_SUBSCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_SUBSCHEMA_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")


MAX_ERRORS = 50
"""Violations listed of one call's arguments."""


class SchemaError(ValueError):
    """The schema itself cannot be used; says why."""


class Parameters:
    """The parameters of one tool."""

    def __init__(self, declared: object) -> None:
        """Reads a schema.

        Raises:
            SchemaError: it is no JSON Schema in any draft, even with its type names translated.
        """
        self.schema = _standard(_as_object_schema(declared))
        self._validator = _validator(self.schema)

    def errors(self, arguments: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
        """The parameter (None for the arguments as a whole) and reason of each way the schema is broken.

        At most `MAX_ERRORS`, the last then of the whole.

        Raises:
            SchemaError: the schema turned out unusable, for example a reference that leads nowhere.
        """
        try:
            for count, error in enumerate(self._validator.iter_errors(arguments)):
                if count == MAX_ERRORS:
                    yield None, "the schema is broken throughout"
                    return
                path = error.absolute_path
                yield (str(path[0]) if path else None), str(error.message)
        except Exception as error:  # noqa: BLE001 - foreign code over a foreign schema: regexes, references, recursion
            raise SchemaError(f"{type(error).__name__}: {str(error)[:100]}") from None

    def typed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """`arguments` with every `Text` turned into a value of its parameter's type where it can be."""
        if not any(isinstance(value, Text) for value in arguments.values()):
            return arguments
        return {
            name: _typed(value, self._types(self.property(self.schema, name)))
            if isinstance(value, Text)
            else value
            for name, value in arguments.items()
        }

    def property(self, schema: Any, name: str) -> Any:
        """The schema of property `name` of an object of `schema`; None where nothing is said."""
        properties = self.resolved(schema).get("properties")
        return properties.get(name) if isinstance(properties, dict) else None

    def element(self, schema: Any, index: int) -> Any:
        """The schema of one element of an array of `schema`."""
        resolved = self.resolved(schema)
        for key in ("prefixItems", "items"):
            listed = resolved.get(key)
            if isinstance(listed, list) and index < len(listed):
                return listed[index]
        return resolved.get("items")

    def default(self, schema: Any, name: str) -> Any:
        """The default of property `name`, or `Flaw` when there is none."""
        found = self.property(schema, name)
        if isinstance(found, dict) and "default" in found:
            return found["default"]
        return self.resolved(found).get("default", Flaw("no default"))

    def resolved(self, schema: Any) -> dict[str, Any]:
        """`schema` with local references followed; empty where it says nothing."""
        for _ in range(MAX_REFERENCES):
            if not isinstance(schema, dict):
                return {}
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            schema = self._pointed(reference)
        return {}

    def _pointed(self, reference: str) -> Any:
        found: Any = self.schema
        if not reference.startswith("#"):
            return None
        for step in reference[1:].split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        return found

    def _types(self, schema: Any, depth: int = 0) -> list[str]:
        resolved = self.resolved(schema)
        declared = resolved.get("type", [])
        types = [declared] if isinstance(declared, str) else [str(name) for name in declared]
        if not types and depth < MAX_REFERENCES:
            for branch in (*resolved.get("anyOf", ()), *resolved.get("oneOf", ())):
                types += self._types(branch, depth + 1)
        if not types:
            types = sorted({_type_name(value) for value in resolved.get("enum", ())})
        return types


def _type_name(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _typed(text: Text, types: list[str]) -> Any:
    """`text` as the first of `types` it can be; the string itself where it can be none of them.

    Of no declared type, it is the JSON value it spells, else a string.
    """
    raw, bare = str(text), text.strip()
    if types == ["string"]:
        return raw
    if "boolean" in types and bare.casefold() in ("true", "false"):
        return bare.casefold() == "true"
    if "null" in types and bare.casefold() in ("null", "none"):
        return None
    try:
        value = loads(bare)
    except NotJson:
        value = literal(bare) if {"array", "object"} & set(types) else raw
        value = raw if isinstance(value, Flaw) else value
    if not types or _type_name(value) in types or ("integer" in types and _type_name(value) == "number"):
        return value
    return raw


def _as_object_schema(declared: object) -> dict[str, Any]:
    """`declared` as the schema of an object; a bare map of parameters becomes its properties."""
    if declared is None:
        return {"type": "object"}
    if not isinstance(declared, dict):
        raise SchemaError(f"parameters must be an object, not {type(declared).__name__}")
    known = ("properties", "$ref", "anyOf", "oneOf", "allOf", "required", "additionalProperties", "$schema")
    if isinstance(declared.get("type"), str) or any(key in declared for key in known):
        return declared
    if declared and all(isinstance(value, dict) for value in declared.values()):
        return {"type": "object", "properties": declared}
    return declared


def _standard(schema: Any) -> Any:
    """`schema` in JSON Schema's own type names; a type nobody knows (`any`) constrains nothing."""
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    if "type" in result:
        declared = result.pop("type")
        names = [_standard_type(name) for name in (declared if isinstance(declared, list) else [declared])]
        if all(names):
            result["type"] = names if isinstance(declared, list) else names[0]
    if not isinstance(result.get("required", []), list):
        del result["required"]
    for key in _SUBSCHEMAS:
        if isinstance(result.get(key), dict):
            result[key] = _standard(result[key])
    for key in _SUBSCHEMA_LISTS:
        if isinstance(result.get(key), list):
            result[key] = [_standard(branch) for branch in result[key]]
    for key in _SUBSCHEMA_MAPS:
        if isinstance(result.get(key), dict):
            result[key] = {name: _standard(branch) for name, branch in result[key].items()}
    return result


def _standard_type(name: object) -> str | None:
    """The JSON Schema type of a name as datasets write it: `dict`, `int, optional`, `List[int]`."""
    if not isinstance(name, str):
        return None
    return _TYPES.get(name.split(",")[0].split("[")[0].strip().casefold())


@cache
def _validator_classes() -> dict[str, Any]:
    """The drafts' validators, adapted as the module says; the newest first."""
    from jsonschema import validators

    def multiple_of(_: Any, factor: Any, instance: Any, __: Any) -> Iterator[Any]:
        if _is_number(instance) and (Fraction(str(instance)) / Fraction(str(factor))).denominator != 1:
            yield jsonschema_error(f"{str(instance)[:40]} is no multiple of {factor}")

    def unique_items(_: Any, wanted: Any, instance: Any, __: Any) -> Iterator[Any]:
        if wanted and isinstance(instance, list) and len(set(map(identity, instance))) < len(instance):
            yield jsonschema_error("an element is given twice")

    from jsonschema.exceptions import ValidationError as jsonschema_error

    classes = {}
    for name in ("Draft202012Validator", "Draft7Validator", "Draft4Validator"):
        base = getattr(validators, name)
        checker = base.TYPE_CHECKER.redefine("integer", _is_integer)
        replaced = {"multipleOf": multiple_of, "uniqueItems": unique_items}
        classes[name] = validators.extend(base, replaced, type_checker=checker)
    return classes


def _validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema.exceptions import SchemaError as DraftError
    from referencing import Registry

    problem = ""
    for validator in _validator_classes().values():
        try:
            validator.check_schema(schema)
        except DraftError as error:
            problem = problem or str(error.message)
            continue
        except RecursionError:
            raise SchemaError("the schema is nested too deeply") from None
        return validator(
            {key: value for key, value in schema.items() if key != "$schema"}, registry=Registry()
        )
    raise SchemaError(f"no JSON Schema: {problem[:150]}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(_: Any, value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())
