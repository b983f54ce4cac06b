"""Tables on their way out: Arrow with plain types that every reader can concatenate.

In: a Polars frame or an Arrow schema. Out: the same with `string` and `list` in place of the large,
view and dictionary kinds, which Polars writes and `datasets` refuses to concatenate with its own files.
"""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from pipelines.schemas import SchemaError, require

_SLICE_ROWS = 16_384  # a plain string array holds at most 2 GiB, so long columns are cast in slices


def to_arrow(frame: pl.DataFrame, schema: pl.Schema | None = None) -> pa.Table:
    """`frame` as Arrow with plain types; with `schema`, exactly its columns in its order.

    Raises:
        SchemaError: `frame` lacks a column of `schema` or has it with another type, or a column has
            a type without a plain form.
    """
    if schema is not None:
        require(frame, schema, table="frame")
        frame = frame.select(schema.names())
    plain = plain_schema(frame.head(0).to_arrow().schema)
    slices = [part.to_arrow().cast(plain) for part in frame.iter_slices(_SLICE_ROWS)]
    return pa.concat_tables(slices) if slices else plain.empty_table()


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """`schema` with plain types all the way down and without metadata.

    Raises:
        SchemaError: names the column whose type has no plain form.
    """
    return pa.schema([_plain_field(field, field.name) for field in schema])


def _plain_field(field: pa.Field[pa.DataType], where: str) -> pa.Field[pa.DataType]:
    return pa.field(field.name, _plain_type(field.type, where), nullable=field.nullable)


def _plain_type(dtype: pa.DataType, where: str) -> pa.DataType:
    is_ = pa.types
    if is_.is_string(dtype) or is_.is_large_string(dtype) or is_.is_string_view(dtype):
        return pa.string()
    if is_.is_binary(dtype) or is_.is_large_binary(dtype) or is_.is_binary_view(dtype):
        return pa.binary()
    if is_.is_list(dtype) or is_.is_large_list(dtype):
        return pa.list_(_plain_type(dtype.value_type, f"{where}[]"))
    if is_.is_fixed_size_list(dtype):
        size: int = dtype.list_size
        return pa.list_(_plain_type(dtype.value_type, f"{where}[]"), size)
    if is_.is_struct(dtype):
        return pa.struct([_plain_field(field, f"{where}.{field.name}") for field in dtype])
    if is_.is_map(dtype):
        return pa.map_(_plain_type(dtype.key_type, where), _plain_type(dtype.item_type, where))
    if is_.is_dictionary(dtype):
        return _plain_type(dtype.value_type, where)
    if is_.is_primitive(dtype) or is_.is_decimal(dtype) or is_.is_null(dtype):
        return dtype
    raise SchemaError(f"column {where!r}: {dtype} has no plain form; cast it before it is written")
