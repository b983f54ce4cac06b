"""One tool's parameters: validates arguments, gives bare text its type, knows defaults.

In: the `parameters` of a tool. Out: `Parameters`.

Validation is the jsonschema library's, imported on first use, with the keywords replaced that raise or are
wrong on numbers models write (`multipleOf`) or quadratic in what they write (`uniqueItems`), with 5.0 an
integer, and with no reference ever fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from verifiers.tool_calls.call import Flaw, Text
from verifiers.tool_calls.compare import identity
from verifiers.tool_calls.dialects import SchemaError, object_schema
from verifiers.tool_calls.json_text import NotJson, find_flaw, loads
from verifiers.tool_calls.python_literals import literal

MAX_REFERENCES = 16
"""Steps along `$ref` before a schema counts as circular."""

MAX_ERRORS = 50
"""Violations listed of one call's arguments."""


class Parameters:
    """The parameters of one tool."""

    def __init__(self, declared: object) -> None:
        """Reads a schema.

        Raises:
            SchemaError: it is no JSON Schema in any dialect known.
        """
        self.schema = object_schema(declared)
        self._validator: Any = None

    def errors(self, arguments: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
        """The parameter (None for the arguments as a whole) and reason of each way the schema is broken.

        At most `MAX_ERRORS`, the last then of the whole.

        Raises:
            SchemaError: the schema turned out unusable, for example a reference that leads nowhere.
        """
        try:
            self._validator = self._validator or _validator(self.schema)
            for count, error in enumerate(self._validator.iter_errors(arguments)):
                if count == MAX_ERRORS:
                    yield None, "the schema is broken throughout"
                    return
                path = error.absolute_path
                yield (str(path[0]) if path else None), str(error.message)
        except Exception as error:  # noqa: BLE001 - foreign code over a foreign schema: references, recursion, kinds
            raise SchemaError(f"{type(error).__name__}: {str(error)[:100]}") from None

    def typed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """`arguments` with every `Text` turned into a value of its parameter's type where it can be."""
        return {
            name: _typed(value, self._types(self.property(self.schema, name)))
            if isinstance(value, Text)
            else value
            for name, value in arguments.items()
        }

    def property(self, schema: Any, name: str) -> Any:
        """The schema of property `name` of an object of `schema`; None where nothing is said."""
        return self.resolved(schema).get("properties", {}).get(name)

    def element(self, schema: Any, index: int) -> Any:
        """The schema of one element of an array of `schema`."""
        resolved = self.resolved(schema)
        first = resolved.get("prefixItems", [])
        return first[index] if index < len(first) else resolved.get("items")

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
            if "$ref" not in schema:
                return schema
            schema = self._pointed(schema["$ref"])
        return {}

    def _pointed(self, reference: str) -> Any:
        found: Any = self.schema
        if not reference.startswith("#"):
            return None
        for step in reference[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def _types(self, schema: Any, depth: int = 0) -> list[str]:
        """The types a value of `schema` can have; empty where any can be."""
        resolved = self.resolved(schema)
        declared = resolved.get("type", [])
        types = [declared] if isinstance(declared, str) else list(declared)
        if not types and depth < MAX_REFERENCES:
            for branch in (*resolved.get("anyOf", ()), *resolved.get("oneOf", ())):
                types += self._types(branch, depth + 1)
        return types or sorted({_type_name(value) for value in resolved.get("enum", ())})


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
    if find_flaw(value):
        return raw
    if not types or _type_name(value) in types or ("integer" in types and _type_name(value) == "number"):
        return value
    return raw


def _validator(schema: dict[str, Any]) -> Any:
    from referencing import Registry

    return _validator_class()(schema, registry=Registry())


@cache
def _validator_class() -> Any:
    """The validator of draft 2020-12, adapted as the module says."""
    from jsonschema import Draft202012Validator, validators
    from jsonschema.exceptions import ValidationError

    def multiple_of(_: Any, factor: Any, instance: Any, __: Any) -> Iterator[Any]:
        if _is_number(instance) and (Fraction(str(instance)) / Fraction(str(factor))).denominator != 1:
            yield ValidationError(f"{str(instance)[:40]} is no multiple of {factor}")

    def required(_: Any, names: Any, instance: Any, __: Any) -> Iterator[Any]:
        for name in names if isinstance(instance, dict) else ():
            if name not in instance:
                yield ValidationError(f"{name!r} is required", path=[name])

    def unique_items(_: Any, wanted: Any, instance: Any, __: Any) -> Iterator[Any]:
        if wanted and isinstance(instance, list) and len(set(map(identity, instance))) < len(instance):
            yield ValidationError("an element is given twice")

    replaced = {"multipleOf": multiple_of, "required": required, "uniqueItems": unique_items}
    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    return validators.extend(Draft202012Validator, replaced, type_checker=checker)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(_: Any, value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())
