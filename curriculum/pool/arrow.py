"""Arrow tables of original rows: plain types, and one table out of several sources.

In: tables and records. Out: one `pa.Table` whose schema all sources agree with, or one schema for the parts
of a source read piece by piece; types without the kinds that trainers' loaders refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from curriculum.errors import UsageError
from curriculum.pool.columns import values
from curriculum.pool.identity import canonical
from curriculum.pool.text import Record

Part = tuple[str, "pa.Table | list[Record]", Sequence[int]]
"""The path of a source, its rows, and which of them to keep."""


def plain(dtype: pa.DataType) -> pa.DataType:
    """A type without `large_` kinds, views and dictionaries, inside and out.

    Hugging Face datasets refuses to concatenate `large_string` and `string`, and verl concatenates.
    """
    if pa.types.is_dictionary(dtype):
        return plain(dtype.value_type)
    if pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype):
        return pa.string()
    if pa.types.is_large_binary(dtype) or pa.types.is_binary_view(dtype):
        return pa.binary()
    if pa.types.is_struct(dtype):
        return pa.struct([_plain_field(field) for field in dtype])
    if pa.types.is_map(dtype):
        return pa.map_(plain(dtype.key_type), plain(dtype.item_type))
    if pa.types.is_fixed_size_list(dtype):
        size: int = dtype.list_size
        return pa.list_(_plain_field(dtype.value_field), size)
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        return pa.list_(_plain_field(dtype.value_field))
    kept: pa.DataType = dtype
    return kept


def _plain_field(field: pa.Field[Any]) -> pa.Field[Any]:
    return field.with_type(plain(field.type))


def _wide(dtype: pa.DataType) -> pa.DataType:
    """The same type with 64-bit offsets, which hold more than 2 GiB of text in one piece."""
    if pa.types.is_string(dtype):
        return pa.large_string()
    if pa.types.is_binary(dtype):
        return pa.large_binary()
    if pa.types.is_struct(dtype):
        return pa.struct([field.with_type(_wide(field.type)) for field in dtype])
    if pa.types.is_list(dtype):
        return pa.large_list(dtype.value_field.with_type(_wide(dtype.value_type)))
    return dtype


def in_one_piece(table: pa.Table) -> pa.Table:
    """The same rows in one chunk, so that rows can be taken from it in any order, whatever its size.

    Arrow's take joins the chunks of a column, and fails where joined text passes 2 GiB in 32-bit offsets.
    """
    schema = pa.schema([field.with_type(_wide(field.type)) for field in table.schema])
    return table.cast(schema).replace_schema_metadata(table.schema.metadata).combine_chunks()


def plain_table(table: pa.Table) -> pa.Table:
    """The same rows in plain types, without pandas' notes on the columns."""
    schema = pa.schema([_plain_field(field) for field in table.schema])
    notes = {key: value for key, value in (table.schema.metadata or {}).items() if key != b"pandas"}
    return table.cast(schema).replace_schema_metadata(notes or None)


def align(parts: Sequence[Part]) -> pa.Table:
    """The kept rows of all sources as one table, in their order.

    All records share one inference of types: a key that a record lacks is null, and a column of mixed
    kinds (a number here, text there), or of empty objects, becomes text: the values that are no text
    as JSON.

    Raises:
        UsageError: two sources differ in a column or its type; names the source and the column.
    """
    records = [rows[i] for _, rows, kept in parts if not isinstance(rows, pa.Table) for i in kept]
    inferred = _from_records(records)
    start = 0
    tables: list[tuple[str, pa.Table]] = []
    for path, rows, kept in parts:
        if isinstance(rows, pa.Table):
            tables.append((path, _only(rows, kept)))
        else:
            tables.append((path, inferred.slice(start, len(kept))))
            start += len(kept)
    schema = agree(tables)
    return pa.concat_tables([table.select(schema.names).cast(schema) for _, table in tables])


def _only(table: pa.Table, kept: Sequence[int]) -> pa.Table:
    if len(kept) == table.num_rows:
        return table
    mask = np.zeros(table.num_rows, dtype=np.bool_)
    mask[list(kept)] = True
    return table.filter(pa.array(mask))


def agree(tables: Sequence[tuple[str, pa.Table]]) -> pa.Schema:
    """The schema that tables, each with the path of its source, have in common: the first one's, with the
    types of columns that are null throughout it from the next.

    Raises:
        UsageError: two differ in a column or its type; names the source and the column.
    """
    if not tables:
        return pa.schema([])
    first_path, first = tables[0]
    fields = {field.name: field for field in first.schema}
    for path, table in tables[1:]:
        for name in sorted(fields.keys() ^ set(table.column_names)):
            lacks, has = (path, first_path) if name in fields else (first_path, path)
            do = "write all files with one schema, or read them as separate pools"
            raise UsageError(f"files differ: {lacks} has no column {name!r}, {has} has", where=path, do=do)
        for field in table.schema:
            known = fields[field.name]
            if pa.types.is_null(known.type):
                fields[field.name] = field
            elif not pa.types.is_null(field.type) and _shape(field.type) != _shape(known.type):
                raise UsageError(
                    f"files differ: column {field.name!r} is {field.type}, in {first_path} {known.type}",
                    where=path,
                    do="write all files with one schema, or read them as separate pools",
                )
    schema = pa.schema(list(fields.values()))
    return schema.with_metadata(first.schema.metadata) if first.schema.metadata else schema


def widest(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The schema that holds the rows of every part of one source of records: every column, each of the type
    that all parts' types go into, and text where none does."""
    types: dict[str, pa.DataType] = {}
    for schema in schemas:
        for field in schema:
            types[field.name] = _wider(types.get(field.name, pa.null()), field.type)
    return pa.schema(list(types.items()))


def _wider(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    if a == b:
        return a
    try:
        both = [pa.schema([("x", dtype)]) for dtype in (a, b)]
        wider: pa.DataType = pa.unify_schemas(both, promote_options="permissive").field("x").type
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return pa.string()
    return wider


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of a part with the columns and types of `widest`.

    Raises:
        UsageError: a number of one part is too long for the floating point that others hold.
    """
    columns = [_conformed(table, field) for field in schema]
    return pa.table(columns, schema=schema)


def _conformed(table: pa.Table, field: pa.Field[Any]) -> pa.ChunkedArray[Any] | pa.Array[Any]:
    if field.name not in table.column_names:
        absent: pa.Array[Any] = pa.nulls(table.num_rows, field.type)
        return absent
    column: pa.ChunkedArray[Any] = table[field.name]
    if column.type == field.type:
        return column
    if pa.types.is_string(field.type) and not pa.types.is_null(column.type):
        return pa.array([_json_text(value) for value in values(table, (field.name,))], pa.string())
    try:
        widened: pa.ChunkedArray[Any] = column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise UsageError(
            f"the numbers of column {field.name!r} do not fit one type: {error}",
            where="some rows hold fractions, others whole numbers beyond 2^53",
            do="write the column as text",
        ) from error
    return widened


def _json_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else canonical(value)


def _shape(dtype: pa.DataType) -> pa.DataType:
    """A plain type with struct fields in order of name: equal shapes hold the same data."""
    dtype = plain(dtype)
    if pa.types.is_struct(dtype):
        fields = sorted(dtype, key=lambda field: field.name)
        return pa.struct([(field.name, _shape(field.type)) for field in fields])
    return pa.list_(_shape(dtype.value_type)) if pa.types.is_list(dtype) else dtype


def _from_records(records: Sequence[Record]) -> pa.Table:
    names = dict.fromkeys(key for record in records for key in record)
    return pa.table({name: _infer([record.get(name) for record in records]) for name in names})


def _infer(found: list[Any]) -> pa.Array[Any]:
    try:
        array: pa.Array[Any] = pa.array(found)
        if not _has_empty_struct(array.type):
            return array
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass  # kinds that no one type holds
    return pa.array([_json_text(value) for value in found], pa.string())


def _has_empty_struct(dtype: pa.DataType) -> bool:
    """Whether Parquet would refuse a type: it cannot write a struct without fields."""
    if pa.types.is_struct(dtype):
        return dtype.num_fields == 0 or any(_has_empty_struct(field.type) for field in dtype)
    return pa.types.is_list(dtype) and _has_empty_struct(dtype.value_type)
