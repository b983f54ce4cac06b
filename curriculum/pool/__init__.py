"""Prompt pools: reads them from the files people have, and writes sets in the schemas trainers read.

In: names of files, folders and datasets. Out: a `Pool`; and Arrow tables of chosen rows.
"""

from curriculum.pool.formats import BadRow, SourceFile
from curriculum.pool.identity import prompt_id
from curriculum.pool.layouts import LAYOUTS, Layout, ReadOptions
from curriculum.pool.read import Pool, read_pool
from curriculum.pool.write import export

__all__ = [
    "LAYOUTS",
    "BadRow",
    "Layout",
    "Pool",
    "ReadOptions",
    "SourceFile",
    "export",
    "prompt_id",
    "read_pool",
]
