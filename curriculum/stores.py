"""Copies of published sets at URLs that fsspec can write to.

In: the folder of a published set, and the URL of an output. Out: the same under `refreshes/<id>/` there, and
LATEST naming it.

A rename may not be atomic there, but one put is: the files that the manifest names are put first, the
manifest when all of them are there, LATEST last. A reader goes from LATEST to the manifest to the files it
names, so it meets neither an upload that was killed nor files of an earlier set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curriculum.errors import EngineError, UsageError
from curriculum.manifest import LATEST, NAME, REFRESHES, read_manifest


def is_url(out: str) -> bool:
    """Whether `out` is a URL and no path."""
    return "://" in out


def out_keys(out: str | None) -> dict[str, str | None]:
    """The keys of the configuration that `--out` stands for: a folder, or a URL that gets copies."""
    url = out if out is not None and is_url(out) else None
    return {"output.dir": None if url else out, "output.url": url}


@dataclass(frozen=True, slots=True)
class Store:
    """An output at a URL."""

    url: str
    filesystem: Any  # fsspec.AbstractFileSystem, which has no types
    root: str

    def put(self, folder: Path) -> str:
        """Copies a published set and makes it the newest; one that is there already is not put again.

        Returns:
            the URL of the set.

        Raises:
            EngineError: the store refuses; LATEST names what it named before.
        """
        where = f"{self.root}/{REFRESHES}/{folder.name}"
        with self._refused():
            if not self.filesystem.exists(f"{where}/{NAME}"):
                self._put_files(folder, where)
            self.filesystem.pipe_file(f"{self.root}/{LATEST}", f"{folder.name}\n".encode())
        return f"{self.url}/{REFRESHES}/{folder.name}"

    def _put_files(self, folder: Path, where: str) -> None:
        shards = [shard for table in read_manifest(folder).tables.values() for shard in table]
        for parent in sorted({f"{where}/{shard.name}".rpartition("/")[0] for shard in shards}):
            self.filesystem.makedirs(parent, exist_ok=True)
        for shard in shards:
            self.filesystem.put_file(str(folder / shard.name), f"{where}/{shard.name}")
        for shard in shards:
            size = self.filesystem.size(f"{where}/{shard.name}")
            if size != shard.bytes:
                raise OSError(f"{shard.name} has {size} bytes there, {shard.bytes} were put")
        self.filesystem.pipe_file(f"{where}/{NAME}", (folder / NAME).read_bytes())

    @contextmanager
    def _refused(self) -> Iterator[None]:
        """Turns what a store answers into an error that says where; fsspec's stores raise OSError."""
        try:
            yield
        except OSError as error:
            raise EngineError(
                f"the set is published here, but the store refuses its copy: {error}",
                where=self.url,
                do="run the same command again to copy it",
            ) from error


def open_store(url: str | None) -> Store | None:
    """The store at a URL; None without one. Nothing is written.

    Raises:
        UsageError: it cannot be opened.
    """
    if url is None:
        return None
    import fsspec

    try:
        filesystem, root = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError, OSError) as error:
        raise UsageError(
            f"no set can be copied there: {error}",
            where=url,
            do="install the package that fsspec names for this protocol, or name a folder",
        ) from error
    return Store(url.rstrip("/"), filesystem, root.rstrip("/"))
