"""Where sets are published: a folder, or any URL that fsspec can write to.

In: a complete set in a local folder, its manifest among it. Out: the same under `refreshes/<id>/`, and
LATEST naming it. A reader sees the old set or the new one:

    a folder    the set appears by one rename; LATEST is replaced by another
    a URL       the files that the manifest names are put first, the manifest when all of them are there,
                LATEST last; files of an upload that was killed are named by no manifest
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from curriculum.errors import EngineError, UsageError
from curriculum.files import TEMPORARY, disk_errors, sync_folder
from curriculum.manifest import LATEST, NAME, REFRESHES, point_latest, read_manifest


class Store(Protocol):
    """A place to publish in."""

    def holds(self, refresh_id: str) -> bool:
        """Whether the set is published here already."""
        ...

    def staging(self, refresh_id: str) -> Path:
        """The local folder to write the set into; it does not exist yet."""
        ...

    def commit(self, refresh_id: str) -> str:
        """Publishes what is in the staging folder, or what is here already, as the newest set.

        Returns:
            where the set is.

        Raises:
            EngineError: the place refuses; the same command tries again.
        """
        ...


def is_url(out: str) -> bool:
    """Whether `out` is a URL and no path."""
    return "://" in out


def open_store(out: str, work: Path) -> Store:
    """The store that `out` names; `work` is a local folder for what is not published yet.

    Raises:
        UsageError: the URL cannot be opened.
    """
    if not is_url(out) or out.startswith("file://"):
        return FolderStore(Path(out.removeprefix("file://")))
    import fsspec

    try:
        filesystem, root = fsspec.core.url_to_fs(out)
    except (ValueError, ImportError, OSError) as error:
        raise UsageError(
            f"cannot publish there: {error}",
            where=out,
            do="install the package that fsspec names for this protocol, or name a folder",
        ) from error
    return UrlStore(out.rstrip("/"), filesystem, root.rstrip("/"), work)


@dataclass(frozen=True, slots=True)
class FolderStore:
    """A folder of this machine."""

    out: Path

    def holds(self, refresh_id: str) -> bool:
        return (self._folder(refresh_id) / NAME).is_file()

    def staging(self, refresh_id: str) -> Path:
        return self.out / REFRESHES / f"{TEMPORARY}{refresh_id}"

    def commit(self, refresh_id: str) -> str:
        folder = self._folder(refresh_id)
        with disk_errors(self.out, during_pass=True):
            if not self.holds(refresh_id):
                self.staging(refresh_id).rename(folder)
                sync_folder(folder.parent)
            point_latest(self.out, refresh_id)
        return str(folder)

    def _folder(self, refresh_id: str) -> Path:
        return self.out / REFRESHES / refresh_id


@dataclass(frozen=True, slots=True)
class UrlStore:
    """Anything fsspec writes to, where a single put is atomic and a rename may not be."""

    url: str
    filesystem: Any  # fsspec.AbstractFileSystem, which has no types
    root: str
    work: Path

    def holds(self, refresh_id: str) -> bool:
        with self._refused():
            return bool(self.filesystem.exists(f"{self._folder(refresh_id)}/{NAME}"))

    def staging(self, refresh_id: str) -> Path:
        return self.work / f"{TEMPORARY}{refresh_id}"

    def commit(self, refresh_id: str) -> str:
        folder = self._folder(refresh_id)
        if not self.holds(refresh_id):
            with self._refused():
                self._put(self.staging(refresh_id), folder)
        with self._refused():
            self.filesystem.pipe_file(f"{self.root}/{LATEST}", f"{refresh_id}\n".encode())
        return f"{self.url}/{REFRESHES}/{refresh_id}"

    def _put(self, staged: Path, folder: str) -> None:
        shards = [shard for table in read_manifest(staged).tables.values() for shard in table]
        for shard in shards:
            target = f"{folder}/{shard.name}"
            self.filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
            self.filesystem.put_file(str(staged / shard.name), target)
        for shard in shards:
            size = self.filesystem.size(f"{folder}/{shard.name}")
            if size != shard.bytes:
                raise OSError(f"{shard.name} has {size} bytes there, {shard.bytes} were put")
        self.filesystem.pipe_file(f"{folder}/{NAME}", (staged / NAME).read_bytes())

    def _folder(self, refresh_id: str) -> str:
        return f"{self.root}/{REFRESHES}/{refresh_id}"

    @contextmanager
    def _refused(self) -> Iterator[None]:
        """Turns what a store answers into an error that says where; fsspec's stores raise OSError."""
        try:
            yield
        except OSError as error:
            raise EngineError(
                f"the store refuses: {error}",
                where=self.url,
                do="nothing of the set can be read there yet; run the same command to continue",
            ) from error
