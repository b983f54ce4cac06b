"""Starts jailed programs and follows each to its end.

In: a jail level, then `Limits` and, for scripts, descriptors of standard input and output. Out: a `Program`
to talk with. Safe to use from several threads.
"""

from __future__ import annotations

import array
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from verifiers.sandbox import bubblewrap, frames
from verifiers.sandbox.channel import Channel, ClosedError, DeadlineError
from verifiers.sandbox.jail import SLOTS, LevelName
from verifiers.sandbox.limits import Limits
from verifiers.sandbox.values import decode, encode
from verifiers.sandbox.zygote import READY, STATUS

_PROGRAMS_EACH = 4
_START_SECONDS = 30.0
_END_SECONDS = 10.0

_BOOT = """
import sys, types
for name, folder in (("verifiers", sys.argv[1]), ("verifiers.sandbox", sys.argv[2])):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from verifiers.sandbox import zygote
zygote.main(sys.argv[3], int(sys.argv[4]))
"""
"""Imports the zygote without running any `verifiers/__init__.py`, ours or another distribution's."""


class SandboxError(Exception):
    """No jail can be had, or it failed; says nothing about the program."""


class Runner:
    """A zygote and the programs forked from it.

    Raises:
        SandboxError: this level cannot be had here; the message is the reason.
    """

    def __init__(self, level: LevelName) -> None:
        self.level = level
        self.turns = threading.BoundedSemaphore(max(2, min(os.cpu_count() or 2, SLOTS // _PROGRAMS_EACH)))
        """Held by whoever runs programs against the clock, so that they do not slow each other down; a
        holder runs at most four programs at once."""
        wrapper = _wrapper(level)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._process = _launch(_command(wrapper, level, theirs.fileno()), theirs.fileno())
            except OSError as error:
                self._control.close()
                raise SandboxError(f"cannot start {sys.executable}: {error}") from error
        self._await_ready()

    def _await_ready(self) -> None:
        self._control.settimeout(_START_SECONDS)
        try:
            said = self._control.recv(4096)
        except OSError as error:
            said = f"no sign of life: {error}".encode()
        if said != READY:
            self.close()
            raise SandboxError(said.decode(errors="replace") or "the sandbox process ended at once")

    @property
    def pid(self) -> int:
        """The process at the root of all programs."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether programs can still be started; False after `close` and after a fork of this process."""
        return self._control.fileno() != -1

    def start(self, limits: Limits, stdio: tuple[int, int] | None = None) -> Program:
        """A new program, locked in and waiting for its first frame; without `stdio` it has /dev/null.

        Raises:
            SandboxError: the zygote is gone, or the jail could not be closed.
        """
        return _locked([self._request(limits, stdio)])[0]

    def start_two(self, limits: Limits) -> tuple[Program, Program]:
        """Like `start` twice, in the time of one."""
        first, second = _locked([self._request(limits, None), self._request(limits, None)])
        return first, second

    def _request(self, limits: Limits, stdio: tuple[int, int] | None) -> Program:
        lease, their_lease = socket.socketpair()
        channel, their_channel = socket.socketpair()
        with their_lease, their_channel:
            descriptors = array.array("i", (their_lease.fileno(), their_channel.fileno(), *(stdio or ())))
            try:
                self._control.sendmsg(
                    [limits.pack()],
                    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)],
                    socket.MSG_NOSIGNAL,
                )
            except OSError as error:
                lease.close()
                channel.close()
                self.close()
                raise SandboxError(f"the sandbox process is gone: {error}") from error
        return Program(self, lease, Channel(channel))

    def close(self) -> None:
        """Ends the zygote and every program of it. Harmless twice."""
        self._control.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """After a fork, in the child: lets go of what belongs to the parent."""
        self._control.close()
        self._process.returncode = 0  # the parent's to wait for


class Program:
    """One jailed program; a context manager that leaves nothing of it alive."""

    def __init__(self, runner: Runner, lease: socket.socket, channel: Channel) -> None:
        self.channel = channel
        self._runner = runner
        self._lease = lease
        self._status: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def wait(self, deadline: float) -> int:
        """The exit status, once the program has ended; minus the signal's number if one killed it.

        Raises:
            DeadlineError: it still runs at `deadline` (seconds of `time.monotonic`).
            SandboxError: the zygote is gone.
        """
        if self._status is None:
            self._lease.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                data = self._lease.recv(STATUS.size)
            except TimeoutError as error:
                raise DeadlineError("still running") from error
            if not data:
                self._runner.close()
                raise SandboxError("the sandbox process ended, or has no room for another program")
            (self._status,) = STATUS.unpack(data)
        return self._status

    def kill(self) -> None:
        """Has the program killed with everything it started, without waiting for it. Harmless twice."""
        self.channel.close()
        if self._status is None and self._lease.fileno() != -1:
            self._lease.shutdown(socket.SHUT_WR)

    def end(self) -> int:
        """Kills the program and returns when it is dead. Harmless twice.

        Raises:
            SandboxError: the zygote is gone, and the program with it.
        """
        self.kill()
        try:
            return self.wait(time.monotonic() + _END_SECONDS)
        except DeadlineError as error:
            self._runner.close()
            raise SandboxError(f"a program was not dead after {_END_SECONDS:.0f} s") from error
        finally:
            self._lease.close()


def probe(runner: Runner) -> list[str]:
    """What a program in this jail can do and should not; empty when the jail holds.

    Raises:
        SandboxError: a program cannot be locked in at all.
    """
    deadline = time.monotonic() + _START_SECONDS
    with runner.start(Limits()) as program:
        try:
            program.channel.send(frames.PROBE, encode(()), deadline=deadline)
            _, body = program.channel.receive(deadline=deadline)
        except (ClosedError, DeadlineError) as error:
            raise SandboxError(f"the first program did not answer: {error}") from error
    return [str(escape) for escape in decode(body)]


def _locked(programs: list[Program]) -> list[Program]:
    try:
        for program in programs:
            _await_lock(program)
    except SandboxError:
        for program in programs:
            program.end()
        raise
    return programs


def _await_lock(program: Program) -> None:
    """Before this no untrusted code has been sent, so what is said here can be believed."""
    try:
        kind, body = program.channel.receive(deadline=time.monotonic() + _START_SECONDS)
    except (ClosedError, DeadlineError) as error:
        raise SandboxError(f"a program could not be started: {error}") from error
    if kind != frames.LOCKED:
        raise SandboxError(f"the jail could not be closed: {body.decode(errors='replace')}")


def _launch(command: list[str], control: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        env={"PYTHONHASHSEED": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(control,),
        start_new_session=True,
    )


def _command(wrapper: list[str], level: LevelName, control: int) -> list[str]:
    here = Path(__file__).parent
    python = [sys.executable, "-s", "-S", "-P", "-B", "-c", _BOOT]
    return [*wrapper, *python, str(here.parent), str(here), level, str(control)]


def _wrapper(level: LevelName) -> list[str]:
    if not sys.platform.startswith("linux"):
        raise SandboxError("jails need Linux")
    if level != "bubblewrap":
        return []
    try:
        return bubblewrap.prefix()
    except FileNotFoundError as error:
        raise SandboxError(str(error)) from error
