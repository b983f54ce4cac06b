"""A clean, single-threaded process from which every jailed program is forked.

In: the name of a jail level, a control socket on descriptor 3, requests on it. Out: one jailed process a
request; its exit on the request's own lease.

It is started by exec with an empty environment before any test exists, so a fork of it holds nothing to find.
A request carries the limits and the descriptors (lease, channel[, stdin, stdout]). The lease is how one
program is followed and ended: when it exits, its `STATUS` is sent there; when the other end is closed, it is
killed, and with it its pid namespace. The zygote itself ends when its parent does.

A program is forked and locked in before it is given its descriptors, so that one can be made ready in idle
time: a spare, as long as requests come one after the other and ask for the same limits.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import os
import random
import select
import signal
import socket
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

from verifiers.sandbox import frames, jail, kernel, limits, programs
from verifiers.sandbox.channel import Channel

READY = b"ready"
STATUS = struct.Struct("<i")
"""On the lease: a program's exit status, or minus the number of the signal that killed it."""
_MAX_REQUEST = 256
_SPARE_MS = 50
"""How long a spare waits, so that nothing is left when nothing is asked for."""
_CHANNEL, _STDIN = range(2)
"""Places in what a program is given; a request has the lease before them."""

# Imported once here instead of in every program; the rest of the standard library is there to import.
_WARM = """
    abc array ast base64 bisect calendar cmath collections collections.abc contextlib copy dataclasses
    datetime decimal enum fractions functools hashlib heapq inspect io itertools json locale math numbers
    operator queue random re statistics string struct textwrap threading time traceback types typing
    unicodedata _strptime
"""
# Where programs may be unable to enter the interpreter's folder, what is not imported here never can be.
_SUBMODULES = """
    concurrent.futures.process concurrent.futures.thread encodings.idna importlib.resources
    multiprocessing.dummy unittest.mock urllib.parse urllib.request xml.etree.ElementTree
"""
_NOT_FOR_PROGRAMS = {"antigravity", "idlelib", "lib2to3", "this", "tkinter", "turtle", "turtledemo"}


@dataclass(slots=True)
class _Program:
    """A living program, as the zygote sees it."""

    slot: int
    pid: int
    exit: int
    """Readable when the process has exited (a pidfd)."""
    lease: socket.socket


@dataclass(slots=True)
class _Spare:
    """A program that is locked in, or about to be, and waits for its descriptors."""

    slot: int
    pid: int
    request: bytes
    """The limits it is locked in with, packed."""
    handover: socket.socket


@dataclass(slots=True)
class _State:
    cell: jail.Jail
    control: socket.socket
    parent: int
    """Readable when the parent process has exited (a pidfd)."""
    null: int
    poll: select.poll
    by_descriptor: dict[int, _Program] = field(default_factory=dict)
    last_request: bytes = b""
    spare: _Spare | None = None
    wants_spare: bool = False
    """Whether the last two requests were the same."""
    free_slots: list[int] = field(default_factory=lambda: list(reversed(range(jail.SLOTS))))


def main(level: jail.LevelName, control_descriptor: int) -> None:
    """Prepares the jail, says READY or why not, and serves until the parent goes."""
    control = socket.socket(fileno=control_descriptor)
    try:
        parent = os.pidfd_open(os.getppid())
        _forget_the_parent()
        _warm_up(wide=level != "namespaces")
        cell = jail.make(level)
        cell.prepare()
    except OSError as error:
        control.send(str(error).encode())
        return
    control.send(READY)
    state = _State(cell, control, parent, os.open("/dev/null", os.O_RDWR), select.poll())
    for descriptor in (control.fileno(), parent):
        state.poll.register(descriptor, select.POLLIN)
    gc.collect()
    gc.freeze()
    while _serve(state):
        pass


def _forget_the_parent() -> None:
    """Undoes what exec hands on, and offers this process and its programs first when memory runs out."""
    os.environ.clear()
    os.umask(0o022)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with contextlib.suppress(OSError):  # a container without a writable /proc
        Path("/proc/self/oom_score_adj").write_text("1000")


def _warm_up(*, wide: bool) -> None:
    kernel.use_one_malloc_arena()
    names = set(_WARM.split())
    if wide:
        public = {name for name in sys.stdlib_module_names if not name.startswith("_")}
        names |= public - _NOT_FOR_PROGRAMS | set(_SUBMODULES.split())
    for name in sorted(names):
        with contextlib.suppress(ImportError):  # a Python built without, for example, sqlite3
            importlib.import_module(name)


def _serve(state: _State) -> bool:
    """Handles what has happened; False when the parent is gone."""
    if state.wants_spare and state.spare is None and not state.poll.poll(0):
        state.spare = _fork(state, state.last_request)
    ready = {descriptor for descriptor, _ in state.poll.poll(_SPARE_MS if state.spare else None)}
    if not ready and state.spare is not None:
        _discard(state, state.spare)
        state.spare, state.wants_spare = None, False
    if state.parent in ready:
        return False
    # Ends before starts: a new program takes over the numbers of closed descriptors.
    for descriptor in ready & state.by_descriptor.keys():
        program = state.by_descriptor.get(descriptor)
        if program is None:  # its exit was handled a moment ago
            continue
        if descriptor == program.exit:
            _finish(state, program)
        else:
            os.kill(program.pid, signal.SIGKILL)
            _stop_watching(state, descriptor)
    return state.control.fileno() not in ready or _start(state)


def _start(state: _State) -> bool:
    request, descriptors = _receive(state.control)
    if not request:
        return False
    lease = socket.socket(fileno=descriptors.pop(0))
    state.wants_spare, state.last_request = request == state.last_request, request
    started = _hand_over(state, request, descriptors)
    if started is None:
        lease.close()
    else:
        program = _Program(started.slot, started.pid, os.pidfd_open(started.pid), lease)
        for descriptor in (program.exit, lease.fileno()):
            state.by_descriptor[descriptor] = program
            state.poll.register(descriptor, select.POLLIN)
    for descriptor in descriptors:
        os.close(descriptor)
    return True


def _hand_over(state: _State, request: bytes, descriptors: list[int]) -> _Spare | None:
    """The program that now has `descriptors`: the spare if it fits and lives, else a new one.

    None when there is no room for another program.
    """
    spare, state.spare = state.spare, None
    if spare is not None and (spare.request != request or not _give(spare, descriptors)):
        _discard(state, spare)
        spare = None
    if spare is None and (spare := _fork(state, request)) is not None:
        _give(spare, descriptors)
    return spare


def _give(spare: _Spare, descriptors: list[int]) -> bool:
    """Sends a spare its descriptors; False when it is gone."""
    try:
        socket.send_fds(spare.handover, [b"."], descriptors)
    except OSError:
        return False
    spare.handover.close()
    return True


def _discard(state: _State, spare: _Spare) -> None:
    os.kill(spare.pid, signal.SIGKILL)
    os.waitpid(spare.pid, 0)
    spare.handover.close()
    state.free_slots.append(spare.slot)


def _receive(control: socket.socket) -> tuple[bytes, list[int]]:
    numbers = array.array("i")
    request, ancillary, _, _ = control.recvmsg(_MAX_REQUEST, socket.CMSG_SPACE(4 * numbers.itemsize))
    for _, _, data in ancillary:
        numbers.frombytes(data)
    return request, list(numbers)


def _fork(state: _State, request: bytes) -> _Spare | None:
    if not state.free_slots:
        return None
    slot = state.free_slots.pop()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    state.cell.before_fork()
    pid = os.fork()
    if pid == 0:
        _become_program(state, slot, limits.unpack(request), theirs)
    theirs.close()
    return _Spare(slot, pid, request, ours)


def _finish(state: _State, program: _Program) -> None:
    _, status = os.waitpid(program.pid, 0)
    for descriptor in (program.exit, program.lease.fileno()):
        _stop_watching(state, descriptor)
    with contextlib.suppress(OSError):  # nobody waits for it any more
        program.lease.send(STATUS.pack(os.waitstatus_to_exitcode(status)), socket.MSG_NOSIGNAL)
    program.lease.close()
    os.close(program.exit)
    state.free_slots.append(program.slot)


def _stop_watching(state: _State, descriptor: int) -> None:
    if state.by_descriptor.pop(descriptor, None) is not None:
        state.poll.unregister(descriptor)


def _become_program(state: _State, slot: int, bounds: limits.Limits, handover: socket.socket) -> None:
    """In the fork: locks the jail, waits for descriptors, with these alone runs what the channel asks for."""
    status = programs.FAILED_TO_START
    try:
        failure = ""
        try:
            state.cell.lock(slot, bounds)
        except OSError as error:
            failure = str(error)
        _close_all_but(state.null, handover.fileno())
        _, descriptors = _receive(handover)
        if descriptors:
            stdin, stdout = descriptors[_STDIN:] or (state.null, state.null)
            for source, target in ((stdin, 0), (stdout, 1), (state.null, 2)):
                os.dup2(source, target)
            _close_all_but(descriptors[_CHANNEL])
            status = _run(Channel(socket.socket(fileno=descriptors[_CHANNEL])), failure)
    finally:
        os._exit(status)


def _run(channel: Channel, failure: str) -> int:
    if failure:
        channel.send(frames.JAIL_FAILED, failure.encode())
        return programs.FAILED_TO_START
    random.seed(0)
    channel.send(frames.LOCKED)
    return programs.run(channel)


def _close_all_but(*kept: int) -> None:
    """Closes every descriptor from 3 on, except `kept`."""
    first = 3
    for descriptor in sorted(kept):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, 1 << 20)
