"""The ways to lock a program in, strongest first.

In: the name of a level. Out: a `Jail`, whose `prepare` runs once in the zygote, `before_fork` before each
program is forked, and `lock` in the fork itself, before any untrusted code arrives.

    namespaces   own pid and mount namespace, minimal read-only root, private /tmp, own user id (as root)
                 or user namespace; network, IPC and host name namespaces shared by the programs of a zygote
    bubblewrap   the zygote itself runs inside `bwrap`: the same root, no /tmp, programs share namespaces
    landlock     the host's file system, of which Landlock opens the standard library for reading; no /tmp
    unsafe       none of these; only for those who ask for it

Every level adds: seccomp, no new privileges, no capabilities, resource limits.
"""

from __future__ import annotations

import os
import platform
import resource
import signal
from pathlib import Path
from typing import Literal, Protocol

from verifiers.sandbox import kernel, root, seccomp
from verifiers.sandbox.limits import Limits

LevelName = Literal["namespaces", "bubblewrap", "landlock", "unsafe", "none"]

# Above everything that distributions and containers hand out (systemd's "Users, Groups, UIDs and GIDs");
# one block of 128 for each zygote, by its process id, so that no two programs share a user.
_FIRST_USER, _USER_BLOCKS, SLOTS = 0x70000000, 1 << 21, 128
_NOBODY = 65534
_FIRST_PROCESS = 1  # what every program is in its own pid namespace


class Jail(Protocol):
    """One level; see the module."""

    def prepare(self) -> None: ...
    def before_fork(self) -> None: ...
    def lock(self, slot: int, limits: Limits) -> None: ...


def make(level: LevelName) -> Jail:
    """The jail of that level, untried: `prepare` and `lock` raise OSError where it cannot be had."""
    match level:
        case "namespaces":
            return _Namespaces()
        case "landlock":
            return _Landlock()
        case "bubblewrap":
            return _Plain(threads_are_shared=True)
        case "unsafe":
            return _Plain(threads_are_shared=os.geteuid() != 0)
        case "none":
            raise ValueError("level 'none' runs nothing")


class _Namespaces:
    def __init__(self) -> None:
        self._as_root = False
        self._own_pids = -1
        self._first_user = 0

    def prepare(self) -> None:
        self._first_user = _first_user()
        shared = (
            kernel.CLONE_NEWNS
            | kernel.CLONE_NEWPID
            | kernel.CLONE_NEWNET
            | kernel.CLONE_NEWIPC
            | kernel.CLONE_NEWUTS
        )
        self._as_root = _is_mapped(self._first_user) and _may_unshare(shared)
        if not self._as_root:
            _enter_user_namespace(shared)
        _become_child()
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY)
        root.enter()
        kernel.drop_bounding_capabilities()
        seccomp.program(platform.machine(), _FIRST_PROCESS)

    def before_fork(self) -> None:
        # A process may leave for a new pid namespace only from its own one.
        kernel.setns(self._own_pids, kernel.CLONE_NEWPID)
        kernel.unshare(kernel.CLONE_NEWPID)

    def lock(self, slot: int, limits: Limits) -> None:
        kernel.unshare(kernel.CLONE_NEWNS)
        plain = kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("tmpfs", "/tmp", "tmpfs", plain, f"mode=1777,size={limits.file_bytes},nr_inodes=1024")  # noqa: S108
        if Path("/proc/self").exists():
            kernel.mount("proc", "/proc", "proc", plain | kernel.MS_NOEXEC | kernel.MS_RDONLY, "subset=pid")
        os.chdir("/tmp")  # noqa: S108
        if self._as_root:
            _become_user(self._first_user + slot)
        else:
            kernel.unshare(kernel.CLONE_NEWUSER)  # counts this program's threads apart from all others
        _close_the_door(limits, limits.threads)


class _Landlock:
    """Confinement without namespaces: rules on the file system, own user where root."""

    def __init__(self) -> None:
        self._ruleset = -1
        self._first_user: int | None = None

    def prepare(self) -> None:
        version = kernel.landlock_version()
        self._ruleset = kernel.landlock_ruleset(_RIGHTS_BY_VERSION[min(version, 3) - 1])
        readable = [(path, _READ) for path in root.needed_paths()]
        devices = [
            ("/dev/null", _READ_FILE | _WRITE_FILE),
            ("/dev/urandom", _READ_FILE),
            ("/dev/zero", _READ_FILE),
        ]
        for path, rights in (*readable, *devices):
            descriptor = os.open(path, os.O_PATH)
            allowed = rights if Path(path).is_dir() else rights & ~_READ_DIRECTORY
            kernel.landlock_allow(self._ruleset, allowed, descriptor)
            os.close(descriptor)
        if os.geteuid() == 0:
            self._first_user = _first_user() if _is_mapped(_first_user()) else _NOBODY - SLOTS

    def before_fork(self) -> None:
        return

    def lock(self, slot: int, limits: Limits) -> None:
        os.chdir("/")
        if self._first_user is not None:
            _become_user(self._first_user + slot)
        kernel.forbid_new_privileges()
        kernel.landlock_restrict(self._ruleset)
        threads_are_shared = self._first_user is None
        _close_the_door(limits, None if threads_are_shared else limits.threads)


class _Plain:
    """No walls of its own: inside bubblewrap, or unsafe by the user's word."""

    def __init__(self, *, threads_are_shared: bool) -> None:
        self._threads_are_shared = threads_are_shared

    def prepare(self) -> None:
        return

    def before_fork(self) -> None:
        return

    def lock(self, slot: int, limits: Limits) -> None:
        del slot
        os.chdir("/")
        _close_the_door(limits, None if self._threads_are_shared else limits.threads)


# Landlock file system rights: bits 0..12 in version 1, REFER in 2, TRUNCATE in 3.
_READ_FILE, _READ_DIRECTORY, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_READ = _READ_FILE | _READ_DIRECTORY
_RIGHTS_BY_VERSION = ((1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1)


def _may_unshare(namespaces: int) -> bool:
    try:
        kernel.unshare(namespaces)
    except PermissionError:
        return False
    return True


def _enter_user_namespace(others: int) -> None:
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | others)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _become_child() -> None:
    """Goes on in a child, the first process of the new pid namespace; the parent waits and ends with it."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    kernel.die_with_parent(signal.SIGKILL)


def _first_user() -> int:
    return _FIRST_USER + os.getpid() % _USER_BLOCKS * SLOTS


def _is_mapped(user: int) -> bool:
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    ranges = [(int(start), int(count)) for start, _, count in map(str.split, lines)]
    return any(start <= user and user + SLOTS <= start + count for start, count in ranges)


def _become_user(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def _close_the_door(limits: Limits, threads: int | None) -> None:
    """What every level has: limits, no capabilities, no privileges, seccomp, death with the zygote."""
    kernel.drop_capabilities()
    kernel.set_dumpable(True)  # changing user made /proc/self/fd unreadable, and with it /dev/stdin
    kernel.die_with_parent(signal.SIGKILL)
    _limit(resource.RLIMIT_AS, limits.memory_bytes)
    _limit(resource.RLIMIT_CPU, limits.cpu_seconds)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    _limit(resource.RLIMIT_NOFILE, limits.open_files)
    if threads is not None:
        _limit(resource.RLIMIT_NPROC, threads)
    _limit(resource.RLIMIT_MEMLOCK, 0)
    _limit(resource.RLIMIT_CORE, 1)  # unlike 0, this also stops dumps piped to a program of the host
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (_at_most(limits.memory_bytes // 4, most), most))
    kernel.forbid_new_privileges()
    seccomp.confine(os.getpid())


def _limit(kind: int, amount: int) -> None:
    _, most = resource.getrlimit(kind)
    amount = _at_most(amount, most)
    resource.setrlimit(kind, (amount, amount))


def _at_most(amount: int, most: int) -> int:
    return amount if most == resource.RLIM_INFINITY else min(amount, most)
