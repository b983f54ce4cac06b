"""The file system a jailed program sees: the standard library, shared libraries, four devices, nothing else.

In: nothing. Out: `needed_paths()`, and `enter()`, which makes that file system the root of this process's
own mount namespace. Everything in it is read-only.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from verifiers.sandbox import kernel

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
_ZONES = "/usr/share/zoneinfo"
DEVICES = ("null", "zero", "random", "urandom")
LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
_BUILD_AT = "/tmp"  # noqa: S108  # an existing folder to mount over, in a namespace of our own
_PLAIN = kernel.MS_NOSUID | kernel.MS_NODEV


def needed_paths() -> list[str]:
    """Existing files and folders that Python needs to import its standard library, none within another."""
    standard_library = str(Path(os.__file__).parent)
    wanted = {str(Path(standard_library).parent), *_LIBRARIES, _ZONES, *_mapped_library_folders()}
    wanted |= {os.path.realpath(path) for path in wanted}
    kept: list[str] = []
    for path in sorted(path for path in wanted if Path(path).exists()):
        if not any(path.startswith(f"{outer}/") and not Path(outer).is_symlink() for outer in kept):
            kept.append(path)
    return kept


def installed_package_folders() -> list[str]:
    """The site-packages folders within `needed_paths()`: not for jailed programs."""
    standard_library = Path(os.__file__).parent
    beside = (standard_library / "site-packages", standard_library / "dist-packages")
    return [str(path) for path in (*beside, Path("/usr/lib/python3/dist-packages")) if path.is_dir()]


def _mapped_library_folders() -> set[str]:
    lines = Path("/proc/self/maps").read_text().splitlines()
    files = {line.split(maxsplit=5)[5] for line in lines if "/" in line}
    return {str(Path(file).parent) for file in files if ".so" in Path(file).name}


def enter() -> None:
    """Builds the root and moves this process into it.

    Needs a mount namespace of its own and the right to mount.

    Raises:
        OSError: a mount was refused.
    """
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    paths = needed_paths()
    hidden = installed_package_folders()
    sources = {path: os.open(path, os.O_PATH) for path in (*paths, *(f"/dev/{name}" for name in DEVICES))}
    kernel.mount("tmpfs", _BUILD_AT, "tmpfs", _PLAIN, "mode=0755,size=1m")
    for path, source in sources.items():
        _bind(path, source)
    for path in hidden:
        if Path(_BUILD_AT + path).is_dir():
            kernel.mount("tmpfs", _BUILD_AT + path, "tmpfs", _PLAIN, "mode=0755,size=0")
    for name, target in LINKS.items():
        Path(f"{_BUILD_AT}/dev/{name}").symlink_to(target)
    for folder in ("tmp", "proc"):
        Path(_BUILD_AT, folder).mkdir()
    _mount_proc()
    kernel.make_tree_read_only(_BUILD_AT)
    kernel.enter_root(_BUILD_AT)
    for source in sources.values():
        os.close(source)
    sys.path[:] = [path for path in sys.path if Path(path).exists()]


def _bind(path: str, source: int) -> None:
    target = Path(_BUILD_AT + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if Path(path).is_symlink():
        target.symlink_to(Path(path).readlink())
        return
    if Path(path).is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    kernel.mount(f"/proc/self/fd/{source}", str(target), flags=kernel.MS_BIND | kernel.MS_REC)


def _mount_proc() -> None:
    """A /proc, for /dev/stdin and the like; a container that masks its own may refuse, and we do without."""
    try:
        kernel.mount("proc", f"{_BUILD_AT}/proc", "proc", _PLAIN | kernel.MS_NOEXEC)
    except PermissionError:
        return
