"""Whether an argument is the expected one: typed, so that 5.0 is 5, True is not 1 and "5" is not 5.

In: values, the schema that gives defaults, whether strings are normalised. Out: bool.

An optional property left out equals the same property given as its default, at every depth. Accepted values
are BFCL's form: a list of alternatives per parameter, `""` among them for "may be left out", and objects
inside alternatives in the same form again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from verifiers.tool_calls.call import Flaw


class Defaults(Protocol):
    """What is asked of a schema here."""

    def property(self, schema: Any, name: str) -> Any: ...
    def element(self, schema: Any, index: int) -> Any: ...
    def default(self, schema: Any, name: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """How to compare the arguments of one tool."""

    defaults: Defaults
    normalise: bool = False

    def equal(self, actual: Any, expected: Any, schema: Any) -> bool:
        """Whether `actual` is `expected`."""
        if isinstance(expected, dict):
            return isinstance(actual, dict) and self._properties(actual, expected, schema, alternatives=False)
        if isinstance(expected, list):
            return self._elements(actual, expected, schema, self.equal)
        return self._scalar(actual, expected)

    def accepted(self, actual: Any, expected: dict[str, Any], schema: Any) -> bool:
        """Whether every property of `actual` is among the alternatives that `expected` lists for it."""
        return isinstance(actual, dict) and self._properties(actual, expected, schema, alternatives=True)

    def alternative(self, actual: Any, listed: Any, schema: Any) -> bool:
        """Whether `actual` is one of `listed`; a value that is no list is the only one."""
        if not isinstance(listed, list):
            return self._one(actual, listed, schema)
        return any(self._one(actual, value, schema) for value in listed if value != "")

    def _one(self, actual: Any, value: Any, schema: Any) -> bool:
        if isinstance(value, dict):
            return self.accepted(actual, value, schema)
        if isinstance(value, list):
            return self._elements(actual, value, schema, self._one)
        return self._scalar(actual, value)

    def _elements(
        self, actual: Any, expected: list[Any], schema: Any, same: Callable[[Any, Any, Any], bool]
    ) -> bool:
        if not isinstance(actual, list) or len(actual) != len(expected):
            return False
        return all(
            same(one, other, self.defaults.element(schema, index))
            for index, (one, other) in enumerate(zip(actual, expected, strict=True))
        )

    def _properties(
        self, actual: dict[str, Any], expected: dict[str, Any], schema: Any, *, alternatives: bool
    ) -> bool:
        return all(
            self._property(name, actual, expected, schema, alternatives) for name in {**expected, **actual}
        )

    def _property(
        self, name: str, actual: dict[str, Any], expected: dict[str, Any], schema: Any, alternatives: bool
    ) -> bool:
        same = self.alternative if alternatives else self.equal
        wanted = expected.get(name)
        if (
            name in actual
            and name in expected
            and same(actual[name], wanted, self.defaults.property(schema, name))
        ):
            return True
        may_be_absent = alternatives and isinstance(wanted, list) and "" in wanted
        default = self.defaults.default(schema, name)
        if isinstance(default, Flaw):
            return may_be_absent and name not in actual
        if name in actual:
            return (may_be_absent or name not in expected) and self.equal(actual[name], default, None)
        return may_be_absent or same(default, wanted, None)

    def _scalar(self, actual: Any, expected: Any) -> bool:
        if isinstance(expected, bool) or isinstance(actual, bool):
            return actual is expected
        if isinstance(expected, str):
            return isinstance(actual, str) and (
                str(actual) == expected or (self.normalise and normal(actual) == normal(expected))
            )
        if isinstance(expected, int | float):
            return isinstance(actual, int | float) and actual == expected
        return expected is None and actual is None


def normal(text: str) -> str:
    """`text` without case, white space and punctuation.

    A sign before a digit and a point between digits stay, since they make another number; so does the
    whole text when nothing else would be left.
    """
    folded = text.casefold()
    kept = "".join(char for index, char in enumerate(folded) if _counts(folded, index, char))
    return kept or folded


def _counts(text: str, index: int, char: str) -> bool:
    if char.isspace():
        return False
    if not unicodedata.category(char).startswith("P"):
        return True
    before = text[index - 1] if index else " "
    after = text[index + 1 : index + 2]
    if char in ".-" and after.isdigit():
        return before.isdigit() if char == "." else not before.isalnum()
    return False


def identity(value: Any) -> Any:
    """A hashable stand-in for a JSON value: equal exactly when the values are, booleans no numbers."""
    if isinstance(value, dict):
        return ("object", frozenset((key, identity(element)) for key, element in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(identity, value)))
    return (isinstance(value, bool), value)
