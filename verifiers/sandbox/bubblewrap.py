"""The command line that puts a zygote inside bubblewrap.

In: nothing. Out: the words to place before the interpreter's own: every namespace, no capability, the same
read-only root as `root` builds, no writable folder; and no /proc, through which programs of one user could
reach each other's memory.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from verifiers.sandbox import root

_ALONE = ("--unshare-all", "--cap-drop", "ALL", "--uid", "65534", "--gid", "65534")


def prefix() -> list[str]:
    """`bwrap` and its options.

    Raises:
        FileNotFoundError: bubblewrap is not installed.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise FileNotFoundError("bwrap is not installed")
    hidden = root.installed_package_folders()
    words = [bwrap, *_ALONE]
    for path in root.needed_paths():
        words += ["--ro-bind", path, path]
    for path in hidden:
        words += ["--tmpfs", path]
    for path in (sys.executable, str(Path(__file__).parent)):  # it may lie in a hidden folder
        words += ["--ro-bind", path, path]
    for name in root.DEVICES:
        words += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for name, target in root.LINKS.items():
        words += ["--symlink", target, f"/dev/{name}"]
    words += ["--chdir", "/"]
    for path in (*hidden, "/"):
        words += ["--remount-ro", path]
    return words
