"""What the name of a source means: a file, a glob, a folder of shards, a saved or a published dataset.

In: the names a user gives. Out: one `Source` a file or dataset, in the order given (globs and folders
sorted by path). Nothing is read here.

    train.parquet  rows.jsonl(.gz)  rows.json  rows.csv    a file, by its suffix
    data/*.parquet                                          every file that matches
    data/                                                   every file in the folder itself, of one kind
    saved/  saved/:train                                    a `save_to_disk` folder, and a split of one
    openai/gsm8k:main:train  name:train  name[train]        `datasets.load_dataset` (name, config, split)
"""

from __future__ import annotations

import difflib
import glob
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from curriculum.errors import UsageError

Kind = Literal["parquet", "jsonl", "json", "csv", "dataset"]

SUFFIXES: dict[str, Kind] = {
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".json.gz": "json",
    ".csv": "csv",
    ".csv.gz": "csv",
}

_DATASET = re.compile(
    r"(?P<name>[^\s:\[\]]+?)(?::(?P<config>[\w.+-]+))??(?::(?P<split>[^\s:\[]+(?:\[[^\]]*\])?)|\[(?P<bracket>.+)\])?"
)


@dataclass(frozen=True, slots=True)
class Source:
    """One file, or one split of one dataset."""

    kind: Kind
    path: str
    """The file, the folder, or the dataset's name."""
    config: str | None = None
    split: str | None = None

    @property
    def title(self) -> str:
        """The name in messages: path, config and split."""
        return ":".join(part for part in (self.path, self.config, self.split) if part)


def resolve(names: Sequence[str]) -> list[Source]:
    """The sources that `names` stand for.

    Raises:
        UsageError: nothing is named, a file is missing or of an unknown kind, a folder holds no data
            or several kinds, or a file is named twice.
    """
    if not names:
        raise UsageError("no pool is named", where="[pool] sources", do="name a file, a folder or a dataset")
    sources = [source for name in names for source in _resolve(name)]
    seen: set[tuple[str, str | None, str | None]] = set()
    for source in sources:
        key = (
            source.path if source.kind == "dataset" else str(Path(source.path).resolve()),
            source.config,
            source.split,
        )
        if key in seen:
            raise UsageError("a source is named twice", where=source.title, do="name it once")
        seen.add(key)
    return sources


def _resolve(name: str) -> list[Source]:
    path = Path(name).expanduser()
    if path.is_file():
        return [Source(_kind(path), str(path))]
    if path.is_dir():
        return [Source("dataset", str(path))] if is_saved(path) else _folder(path)
    # Path.glob refuses absolute patterns.
    matches = sorted(glob.glob(str(path), recursive=True)) if glob.has_magic(name) else []  # noqa: PTH207
    if matches:
        return [Source(_kind(Path(match)), match) for match in matches if Path(match).is_file()]
    if "*" in name or "?" in name:
        raise UsageError("no file matches", where=name, do=_nearest(path))
    found = _DATASET.fullmatch(name)
    if found is None or _looks_like_path(found["name"]):
        raise UsageError("no such file or folder", where=name, do=_nearest(path))
    return [Source("dataset", found["name"], found["config"], found["split"] or found["bracket"])]


def is_saved(path: Path) -> bool:
    """Whether a folder was written by `Dataset.save_to_disk` or `DatasetDict.save_to_disk`."""
    return (path / "dataset_dict.json").is_file() or (path / "state.json").is_file()


def _looks_like_path(name: str) -> bool:
    """Whether a name that is no existing folder can only have been meant as a path."""
    if Path(name).expanduser().is_dir():
        return False
    return name.startswith((".", "/", "~")) or name.count("/") > 1 or _suffix(Path(name)) in SUFFIXES


def _suffix(path: Path) -> str:
    return "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]).lower()


def _kind(path: Path) -> Kind:
    kind = SUFFIXES.get(_suffix(path))
    if kind is None:
        raise UsageError(
            "not a kind of file that can be read", where=str(path), do=f"known: {', '.join(SUFFIXES)}"
        )
    return kind


def _folder(path: Path) -> list[Source]:
    """The shards in a folder: one kind of file; JSON files beside other shards are taken for notes."""
    files = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")
    shards = [Source(SUFFIXES[_suffix(file)], str(file)) for file in files if _suffix(file) in SUFFIXES]
    kinds = sorted({shard.kind for shard in shards})
    if len(kinds) > 1 and "json" in kinds:
        kinds.remove("json")
    if len(kinds) == 1:
        return [shard for shard in shards if shard.kind == kinds[0]]
    if kinds:
        do = f"name one kind: {' or '.join(str(path / f'*.{kind}') for kind in kinds)}"
        raise UsageError("a folder holds files of several kinds", where=str(path), do=do)
    folders = [str(file) for file in sorted(path.iterdir()) if file.is_dir() and file.name[0] not in "._"]
    do = f"name one of its folders: {_some(folders)}" if folders else f"known: {', '.join(SUFFIXES)}"
    raise UsageError("a folder holds no data files", where=str(path), do=do)


def _nearest(path: Path) -> str:
    """The remedy for a name that is not there: what is there, nearest first."""
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    if folder != path.parent:
        return f"there is no folder {path.parent}; {folder} exists"
    there = [entry.name for entry in sorted(folder.iterdir()) if entry.is_dir() or _suffix(entry) in SUFFIXES]
    near = difflib.get_close_matches(path.name, there, n=3, cutoff=0.5)
    listed = near or there
    return f"in {folder}: {_some(listed)}" if listed else f"{folder} holds no data files"


def _some(names: Iterable[str], most: int = 5) -> str:
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
