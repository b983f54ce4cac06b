"""The system calls a jailed program may make; every other one fails with EPERM.

In: the program's own process id. Out: a BPF filter on the calling thread that its descendants inherit.

One process with threads is allowed; starting a process, sockets, namespaces, mounts, tracing, keys, shared
memory, and signals to anything but itself are not. Numbers are "name:x86_64:aarch64", from the Linux
headers (asm/unistd_64.h, asm-generic/unistd.h); "-" means the machine has no such call.
"""

from __future__ import annotations

import platform
import struct
from errno import ENOSYS, EPERM
from functools import cache

from verifiers.sandbox import kernel

_ALLOWED = {
    "reading and writing": """
        read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69
        pwritev:296:70 preadv2:327:286 pwritev2:328:287 lseek:8:62 sendfile:40:71 copy_file_range:326:285
        splice:275:76 fsync:74:82 fdatasync:75:83 fadvise64:221:223 fallocate:285:47 ftruncate:77:46
        truncate:76:45
    """,
    "files": """
        open:2:- openat:257:56 creat:85:- close:3:57 close_range:436:436 access:21:- faccessat:269:48
        faccessat2:439:439 stat:4:- lstat:6:- fstat:5:80 newfstatat:262:79 statx:332:291 statfs:137:43
        fstatfs:138:44 readlink:89:- readlinkat:267:78 getdents:78:- getdents64:217:61 getcwd:79:17
        chdir:80:49 fchdir:81:50 mkdir:83:- mkdirat:258:34 rmdir:84:- unlink:87:- unlinkat:263:35
        rename:82:- renameat:264:38 renameat2:316:276 link:86:- linkat:265:37 symlink:88:- symlinkat:266:36
        chmod:90:- fchmod:91:52 fchmodat:268:53 umask:95:166 utime:132:- utimes:235:- utimensat:280:88
        futimesat:261:- flock:73:32
    """,
    "descriptors": """
        dup:32:23 dup2:33:- dup3:292:24 fcntl:72:25 pipe:22:- pipe2:293:59 poll:7:- ppoll:271:73 select:23:-
        pselect6:270:72 epoll_create:213:- epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232:-
        epoll_pwait:281:22 epoll_pwait2:441:441 eventfd:284:- eventfd2:290:19 sendto:44:206 recvfrom:45:207
        recvmsg:47:212 shutdown:48:210 getsockopt:55:209 setsockopt:54:208 getsockname:51:204
        getpeername:52:205
    """,
    "memory": """
        brk:12:214 mmap:9:222 munmap:11:215 mprotect:10:226 mremap:25:216 madvise:28:233 msync:26:227
        mincore:27:232 membarrier:324:283
    """,
    "threads": """
        futex:202:98 set_robust_list:273:99 get_robust_list:274:100 set_tid_address:218:96 rseq:334:293
        sched_yield:24:124 sched_getaffinity:204:123 sched_getparam:143:121 sched_getscheduler:145:120
        sched_get_priority_max:146:125 sched_get_priority_min:147:126 getcpu:309:168 gettid:186:178
        restart_syscall:219:128 arch_prctl:158:-
    """,
    "signals": """
        rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigpending:127:136
        rt_sigtimedwait:128:137 rt_sigsuspend:130:133 sigaltstack:131:132 alarm:37:- pause:34:-
        setitimer:38:103 getitimer:36:102
    """,
    "time": """
        nanosleep:35:101 clock_nanosleep:230:115 clock_gettime:228:113 clock_getres:229:114
        gettimeofday:96:169 time:201:- times:100:153
    """,
    "itself": """
        exit:60:93 exit_group:231:94 wait4:61:260 waitid:247:95 getpid:39:172 getppid:110:173 getuid:102:174
        geteuid:107:175 getgid:104:176 getegid:108:177 getresuid:118:148 getresgid:120:150 getgroups:115:158
        getpgid:121:155 getpgrp:111:- getsid:124:156 getpriority:140:141 getrlimit:97:163 setrlimit:160:164
        getrusage:98:165 uname:63:160 sysinfo:99:179 getrandom:318:278 capget:125:90
    """,
}

# Calls whose arguments decide.
_CONDITIONAL = (
    "clone:56:220 clone3:435:435 kill:62:129 tgkill:234:131 prlimit64:302:261 socketpair:53:199 ioctl:16:29"
)

_MACHINES = ("x86_64", "aarch64")
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# struct seccomp_data: int nr; u32 arch; u64 instruction_pointer; u64 args[6]. Both machines are little
# endian, and every argument looked at is 32 bits wide to the kernel.
_NR, _ARCH, _ARGS = 0, 4, 16

_LOAD, _RETURN = 0x20, 0x06
_JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT = 0x15, 0x35, 0x45
_SECCOMP_ALLOW, _SECCOMP_ERRNO = 0x7FFF0000, 0x00050000

_CLONE_THREAD = 0x00010000
_CLONE_NEW_ANYTHING = 0x7E020080  # every CLONE_NEW* flag
_AF_UNIX = 1
_STREAM_KINDS = tuple(1 | nonblock | cloexec for nonblock in (0, 0o4000) for cloexec in (0, 0o2000000))
_HARMLESS_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIO*

Code = list[bytes]


class UnsupportedMachineError(OSError):
    """The filter's system call numbers are not known for this processor."""


def confine(pid: int) -> None:
    """Puts the filter on this thread for good; `pid` is the only process it may still signal.

    Raises:
        UnsupportedMachineError: the processor has no table here.
        OSError: the kernel refused the filter.
    """
    kernel.set_seccomp_filter(program(platform.machine(), pid))


@cache
def program(machine: str, pid: int) -> bytes:
    """The filter as BPF; remembered, so that a zygote can make it before it forks."""
    if machine not in _MACHINES:
        raise UnsupportedMachineError(EPERM, f"no system call table for {machine}; known: {_MACHINES}")
    bodies = {number: [_allow()] for number in _numbers(" ".join(_ALLOWED.values()), machine).values()}
    conditional = _conditional(pid)
    bodies |= {number: conditional[name] for name, number in _numbers(_CONDITIONAL, machine).items()}
    right_machine = [_op(_LOAD, _ARCH), _op(_JUMP_EQUAL, _AUDIT_ARCH[machine], 1, 0), _refuse()]
    return b"".join([*right_machine, _op(_LOAD, _NR), *_choose(_ranges(bodies))])


def _ranges(bodies: dict[int, Code]) -> list[tuple[int, Code]]:
    """Every system call number as (first number, what decides it), each reaching to the next."""
    ranges: list[tuple[int, Code]] = [(0, [_refuse()])]
    for number in range(max(bodies) + 2):
        body = bodies.get(number, [_refuse()])
        if body != ranges[-1][1]:
            ranges.append((number, body))
    return ranges


def _choose(ranges: list[tuple[int, Code]]) -> Code:
    """A binary search: the kernel walks the filter once for every number it has, at every installation."""
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _choose(ranges[:middle]), _choose(ranges[middle:])
    return [_op(_JUMP_AT_LEAST, ranges[middle][0], len(below), 0), *below, *above]


def _conditional(pid: int) -> dict[str, Code]:
    """What decides the calls that depend on their arguments; each body returns on every path."""
    return {
        "clone": [
            _op(_LOAD, _ARGS),
            _op(_JUMP_ANY_BIT, _CLONE_NEW_ANYTHING, 2, 0),
            _op(_JUMP_ANY_BIT, _CLONE_THREAD, 0, 1),
            _allow(),
            _refuse(),
        ],
        # A filter cannot read clone3's argument block; ENOSYS makes the C library use clone.
        "clone3": [_refuse(ENOSYS)],
        "kill": _one_of(0, (pid,)),
        "tgkill": _one_of(0, (pid,)),
        "prlimit64": _one_of(0, (0,)),
        # Event loops need a connected stream pair; a datagram pair could be pointed at another address.
        "socketpair": [
            _op(_LOAD, _ARGS),
            _op(_JUMP_EQUAL, _AF_UNIX, 1, 0),
            _refuse(),
            *_one_of(1, _STREAM_KINDS),
        ],
        "ioctl": _one_of(1, _HARMLESS_IOCTLS),
    }


def _one_of(argument: int, values: tuple[int, ...]) -> Code:
    tests = [step for value in values for step in (_op(_JUMP_EQUAL, value, 0, 1), _allow())]
    return [_op(_LOAD, _ARGS + 8 * argument), *tests, _refuse()]


def _allow() -> bytes:
    return _op(_RETURN, _SECCOMP_ALLOW)


def _refuse(error: int = EPERM) -> bytes:
    return _op(_RETURN, _SECCOMP_ERRNO | error)


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _numbers(table: str, machine: str) -> dict[str, int]:
    rows = (entry.split(":") for entry in table.split())
    column = 1 + _MACHINES.index(machine)
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
