"""Takes the values of a column out of rows of either kind, however they are stored.

In: an Arrow table or records, and a path: a column, then fields of its structs or of the JSON objects in
its text. Out: one Python value a row, or one chat a row; `Fault` where there is none that can be read.

Arrow gives every struct all fields of its column and fills those a row did not have with null, so null
fields of Arrow structs count as absent. In records, which keep what the file said, null stays null.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from curriculum.pool.identity import Messages
from curriculum.pool.text import Record, parse_json

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row cannot be read."""

    cause: str


def values(rows: pa.Table | list[Record], path: Path) -> list[object]:
    """The value at `path` in each row: None where absent, `Fault` where it is text that cannot be decoded."""
    if isinstance(rows, pa.Table):
        return _arrow_values(rows, path)
    found: list[object] = [record.get(path[0]) for record in rows]
    for field in path[1:]:
        found = [_field(value, field) for value in found]
    return found


def chats(rows: pa.Table | list[Record], path: Path) -> Iterator[Messages | Fault]:
    """The messages at `path` in each row, one row at a time; a plain string is one user message."""
    if isinstance(rows, pa.Table) and len(path) == 1 and path[0] in rows.column_names:
        column = rows[path[0]]
        if _is_chat(column.type):
            return _arrow_chats(column)
    return map(_chat, values(rows, path))


def _arrow_values(table: pa.Table, path: Path) -> list[object]:
    if path[0] not in table.column_names:
        return [None] * table.num_rows
    column = table[path[0]]
    for depth, field in enumerate(path[1:], 1):
        if not pa.types.is_struct(column.type):
            found = _python(column)
            for name in path[depth:]:
                found = [_field(value, name) for value in found]
            return found
        if column.type.get_field_index(field) < 0:
            return [None] * table.num_rows
        column = pc.struct_field(column, field)
    return _python(column)


def _python(column: pa.ChunkedArray[Any]) -> list[object]:
    """Python values of a column, without the null fields of its structs."""
    nested = pa.types.is_nested(column.type)
    try:
        # maps_as_pydicts takes a path that is slow for plain text
        found = column.to_pylist(maps_as_pydicts="strict") if nested else column.to_pylist()
    except UnicodeDecodeError:
        found = [_scalar(scalar) for scalar in column]
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return [_decode(value) for value in found]
    return [_without_nulls(value) for value in found] if nested else found


def _scalar(scalar: pa.Scalar[Any]) -> object:
    try:
        return scalar.as_py(maps_as_pydicts="strict")
    except UnicodeDecodeError as error:
        return Fault(f"invalid UTF-8 at byte {error.start} of the value")


def _decode(value: bytes | None) -> str | Fault | None:
    try:
        return value if value is None else value.decode()
    except UnicodeDecodeError as error:
        return Fault(f"invalid UTF-8 at byte {error.start} of the value")


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _field(value: object, name: str) -> object:
    """A field of an object or of the JSON text of one; None where there is none."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = parse_json(value)
        except (ValueError, RecursionError) as error:
            return Fault(f"invalid JSON around {name!r}: {error}")
    if isinstance(value, Fault):
        return value
    return value.get(name) if isinstance(value, dict) else None


def _is_chat(dtype: pa.DataType) -> bool:
    """Whether a column is a list of structs with a text role and text content."""
    if not (pa.types.is_list(dtype) or pa.types.is_large_list(dtype)) or not pa.types.is_struct(
        dtype.value_type
    ):
        return False
    fields = {field.name: field.type for field in dtype.value_type}
    return all(
        name in fields and (pa.types.is_string(fields[name]) or pa.types.is_large_string(fields[name]))
        for name in ("role", "content")
    )


def _arrow_chats(column: pa.ChunkedArray[Any]) -> Iterator[Messages | Fault]:
    """`_chat` of every row, from the flat columns of roles and contents: no object a message."""
    flat = pc.list_flatten(column)
    roles = iter(_python(pc.struct_field(flat, "role")))
    contents = iter(_python(pc.struct_field(flat, "content")))
    pairs = zip(roles, contents, strict=True)
    for length in pc.list_value_length(column).to_pylist():
        yield Fault("the prompt is null") if length is None else _checked(list(islice(pairs, length)))


def _chat(value: object) -> Messages | Fault:
    """The messages of one prompt, given as text, as the JSON text of a chat, or as a chat."""
    if value is None or isinstance(value, Fault):
        return value or Fault("the prompt is null")
    if isinstance(value, str):
        return _json_chat(value) or ([("user", value)] if value.strip() else Fault("the prompt is empty"))
    if not isinstance(value, list):
        return Fault(f"the prompt is a {type(value).__name__}, not text or a list of messages")
    if not all(isinstance(message, dict) for message in value):
        return Fault("a message of the prompt is not an object with role and content")
    return _checked([(message.get("role"), message.get("content")) for message in value])


def _json_chat(text: str) -> Messages | None:
    """The chat that a text cell holds as JSON, or None: a list of objects, each with role and content."""
    if not text.startswith("["):
        return None
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(message, dict) and {"role", "content"} <= message.keys() for message in value):
        return None
    chat = _checked([(message["role"], message["content"]) for message in value])
    return None if isinstance(chat, Fault) else chat


def _checked(messages: list[tuple[Any, Any]]) -> Messages | Fault:
    if not messages:
        return Fault("the prompt has no messages")
    empty = True
    for position, (role, content) in enumerate(messages):
        if role.__class__ is not str or content.__class__ is not str:
            return _fault_of_message(position, role, content)
        empty = empty and not content.strip()
    return Fault("the prompt is empty") if empty else messages


def _fault_of_message(position: int, role: object, content: object) -> Fault:
    for name, value in (("role", role), ("content", content)):
        if isinstance(value, Fault):
            return Fault(f"message {position} of the prompt, {name}: {value.cause}")
        if value is None:
            return Fault(f"message {position} of the prompt has no {name}")
        if not isinstance(value, str):
            return Fault(
                f"message {position} of the prompt: its {name} is a {type(value).__name__}, not text"
            )
    raise AssertionError("called on a sound message")
