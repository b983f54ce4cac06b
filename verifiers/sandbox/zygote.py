"""A clean, single-threaded process from which every jailed program is forked.

In: the name of a jail level, a control socket on descriptor 3, requests on it. Out: one jailed process a
request; its exit on the request's own lease.

It is started by exec with an empty environment before any test exists, so a fork of it holds nothing to find.
A request carries the limits and the descriptors (lease, channel[, stdin, stdout]). The lease is how one
program is followed and ended: when it exits, its `STATUS` is sent there; when the other end is closed, it is
killed, and with it its pid namespace. The zygote itself ends when its parent does.
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
_LEASE, _CHANNEL, _STDIN = range(3)

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
class _State:
    cell: jail.Jail
    control: socket.socket
    parent: int
    """Readable when the parent process has exited (a pidfd)."""
    null: int
    poll: select.poll
    by_descriptor: dict[int, _Program] = field(default_factory=dict)
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
    ready = {descriptor for descriptor, _ in state.poll.poll()}
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
    lease = socket.socket(fileno=descriptors[_LEASE])
    if not state.free_slots:
        lease.close()
    else:
        _fork(state, lease, limits.unpack(request), descriptors)
    for descriptor in descriptors[_CHANNEL:]:
        os.close(descriptor)
    return True


def _receive(control: socket.socket) -> tuple[bytes, list[int]]:
    numbers = array.array("i")
    request, ancillary, _, _ = control.recvmsg(_MAX_REQUEST, socket.CMSG_SPACE(4 * numbers.itemsize))
    for _, _, data in ancillary:
        numbers.frombytes(data)
    return request, list(numbers)


def _fork(state: _State, lease: socket.socket, bounds: limits.Limits, descriptors: list[int]) -> None:
    slot = state.free_slots.pop()
    state.cell.before_fork()
    pid = os.fork()
    if pid == 0:
        _become_program(state, slot, bounds, descriptors)
    program = _Program(slot, pid, os.pidfd_open(pid), lease)
    for descriptor in (program.exit, lease.fileno()):
        state.by_descriptor[descriptor] = program
        state.poll.register(descriptor, select.POLLIN)


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


def _become_program(state: _State, slot: int, bounds: limits.Limits, descriptors: list[int]) -> None:
    """In the fork: keeps this program's descriptors alone, locks the jail, runs what the channel asks for."""
    status = programs.FAILED_TO_START
    try:
        stdin, stdout = descriptors[_STDIN:] or (state.null, state.null)
        for source, target in ((stdin, 0), (stdout, 1), (state.null, 2)):
            os.dup2(source, target)
        channel = Channel(socket.socket(fileno=descriptors[_CHANNEL]))
        try:
            state.cell.lock(slot, bounds)
        except OSError as error:
            channel.send(frames.JAIL_FAILED, str(error).encode())
        else:
            os.closerange(3, descriptors[_CHANNEL])
            os.closerange(descriptors[_CHANNEL] + 1, 1 << 20)
            random.seed(0)
            channel.send(frames.LOCKED)
            status = programs.run(channel)
    finally:
        os._exit(status)
