"""The Linux calls of the jail that Python 3.11 does not offer, by ctypes.

In: plain ints, strings and bytes. Out: nothing or a file descriptor; every failure is an OSError.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18

_MNT_DETACH = 2
_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_MOUNT_ATTR_READ_ONLY = 0x1 | 0x2  # MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_SECCOMP_MODE_FILTER = 2
_M_ARENA_MAX = -8
_LAST_CAPABILITY_TRIED = 63
_EINVAL = 22

_NUMBERS = {  # pivot_root, capset: by machine; the others are the same everywhere
    "x86_64": (155, 126),
    "aarch64": (41, 91),
}
_MOUNT_SETATTR = 442
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    _check(_libc.setns(descriptor, kind), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _check(result, f"mount {target}")


def make_tree_read_only(target: str) -> None:
    """Makes the mount at `target` and all below it read-only and without set-user-id (Linux 5.12)."""
    attributes = ctypes.create_string_buffer(struct.pack("=4Q", _MOUNT_ATTR_READ_ONLY, 0, 0, 0))
    result = _libc.syscall(
        _MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, ctypes.c_size_t(32)
    )
    _check(result, f"mount_setattr {target}")


def enter_root(new_root: str) -> None:
    """Makes `new_root`, a mount point, the root of this mount namespace and detaches the old one."""
    os.chdir(new_root)
    _check(_libc.syscall(_number(0), b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH), "umount2")
    os.chdir("/")


def die_with_parent(signal: int) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal)


def set_dumpable(dumpable: bool) -> None:
    _prctl(_PR_SET_DUMPABLE, int(dumpable))


def forbid_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def set_seccomp_filter(code: bytes) -> None:
    """Installs a BPF program of 8-byte instructions; needs `forbid_new_privileges` first."""
    instructions = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // 8, ctypes.addressof(instructions))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.create_string_buffer(header, len(header)))


def drop_bounding_capabilities() -> None:
    for capability in range(_LAST_CAPABILITY_TRIED + 1):
        try:
            _prctl(_PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == _EINVAL:  # beyond the last capability this kernel knows
                return
            raise


def drop_capabilities() -> None:
    """Empties the permitted, effective and inheritable sets of this thread."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    _check(_libc.syscall(_number(1), header, ctypes.create_string_buffer(24)), "capset")


def use_one_malloc_arena() -> None:
    """Keeps threads from reserving 64 MB of address space each, which a memory limit would count."""
    _libc.mallopt(_M_ARENA_MAX, 1)


def landlock_version() -> int:
    """The Landlock interface version, from 1.

    Raises:
        OSError: the kernel has no Landlock, or it is off.
    """
    return _check(_libc.syscall(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), 1), "landlock")


def landlock_ruleset(handled: int) -> int:
    """A file descriptor of a rule set that refuses the file system rights `handled` everywhere."""
    attributes = ctypes.create_string_buffer(struct.pack("=Q", handled))
    return _check(
        _libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(8), 0), "landlock_create_ruleset"
    )


def landlock_allow(ruleset: int, rights: int, path_descriptor: int) -> None:
    rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, path_descriptor))
    _check(_libc.syscall(_LANDLOCK_ADD_RULE, ruleset, 1, rule, 0), "landlock_add_rule")


def landlock_restrict(ruleset: int) -> None:
    _check(_libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")


def _prctl(option: int, value: int, pointer: object = None) -> None:
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(option, ctypes.c_ulong(value), pointer or zero, zero, zero), f"prctl {option}")


def _number(column: int) -> int:
    machine = platform.machine()
    if machine not in _NUMBERS:
        raise OSError(_EINVAL, f"no system call numbers for {machine}; known: {', '.join(_NUMBERS)}")
    return _NUMBERS[machine][column]


def _check(result: int, call: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{call}: {os.strerror(error)}")
    return result
