"""One worker process as its starter sees it: what it was handed, what it has answered, how it ended.

In: batches of tasks. Out: its messages. Nothing here blocks, except `wait` for a bounded time.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

from verifiers.workers.channel import MAX_MESSAGE_BYTES, Given, Message, pack, take_messages
from verifiers.workers.items import Item

_START = (
    "import json, sys; caller, bell, nice, sys.path[:] = json.loads(sys.argv[1]); "
    "from verifiers.workers.keeper import main; main(caller, bell, nice)"
)
_READ_BYTES = 1 << 16

KILL_S = 5.0
"""Time for a keeper to end what is below it."""


@dataclass(slots=True, eq=False)
class Task:
    """An item on its way."""

    item: Item
    losses: int = 0
    """Workers lost while they were on it."""
    holder: Worker | None = None
    """The worker that is to answer it; None while it waits in the queue."""
    expected_ms: float = 0.0
    done: bool = False


@dataclass(slots=True, eq=False)
class Worker:
    """A process, the tasks it holds in the order it will answer them, and the pipes between."""

    process: subprocess.Popen[bytes]
    tasks: deque[Task] = field(default_factory=deque)
    load_ms: float = 0.0
    """What these tasks are expected to take together."""
    ready: bool = False
    loading: str = ""
    """The verifier that it is importing, if any."""
    since: float = field(default_factory=time.monotonic)
    """When its current task was seen to begin."""
    ended: bool = False
    """It has closed its end: all it will ever say has been received."""
    _unsent: bytearray = field(default_factory=bytearray)
    _received: bytearray = field(default_factory=bytearray)

    @classmethod
    def start(cls, *, bell: int, nice: int, given: Given) -> Worker:
        """Starts a process by exec: it neither imports the caller's `__main__` nor shares its memory.

        It is the keeper, which forks the worker. Both end with the thread that calls this.

        Raises:
            OSError: the system refuses another process.
        """
        path = [str(entry) or os.getcwd() for entry in sys.path]  # noqa: PTH109 - "" is the folder as of now
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, json.dumps([os.getpid(), bell, nice, path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            pass_fds=(bell,),
            start_new_session=True,  # Ctrl-C is the caller's to handle
        )
        worker = cls(process)
        worker._unsent += pack(given)
        os.set_blocking(worker.input.fileno(), False)
        os.set_blocking(worker._output.fileno(), False)
        worker.flush()
        return worker

    @property
    def input(self) -> IO[bytes]:
        """Where batches are written."""
        assert self.process.stdin is not None  # noqa: S101 - a pipe was asked for
        return self.process.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self.process.stdout is not None  # noqa: S101 - a pipe was asked for
        return self.process.stdout

    @property
    def gone(self) -> bool:
        """`kill` has been called: it has ended and its pipes are closed."""
        return self.process.returncode is not None

    @property
    def doing(self) -> str:
        """What keeps it busy, in words."""
        if self.loading:
            return f"importing verifier {self.loading!r}"
        return "verification" if self.ready else "starting a worker"

    @property
    def has_unsent(self) -> bool:
        """Part of a batch waits until the pipe has room: call `flush` when `input` is writable."""
        return bool(self._unsent)

    def hand(self, tasks: Sequence[Task]) -> None:
        """Gives it one batch, to be answered after what it holds already."""
        if not self.tasks:
            self.since = time.monotonic()
        for task in tasks:
            task.holder = self
            self.load_ms += task.expected_ms
        self.tasks.extend(tasks)
        self._unsent += pack(
            [(task.item.verifier, task.item.response, task.item.reference) for task in tasks]
        )
        self.flush()

    def answered(self) -> Task:
        """The task whose answer has just come: the first it holds."""
        task = self.tasks.popleft()
        self.load_ms = self.load_ms - task.expected_ms if self.tasks else 0.0
        return task

    def flush(self) -> None:
        """Writes what the pipe has room for."""
        try:
            while self._unsent:
                written = os.write(self.input.fileno(), self._unsent)
                del self._unsent[:written]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # it has died: `receive` will say so
            self._unsent.clear()

    def receive(self) -> Iterator[Message]:
        """What it has said since last asked; afterwards `ended` tells whether there can be more."""
        try:
            while len(self._received) < 2 * MAX_MESSAGE_BYTES and not self.ended:
                chunk = os.read(self._output.fileno(), _READ_BYTES)
                self._received += chunk
                self.ended = not chunk
        except BlockingIOError:
            pass
        return take_messages(self._received)

    def kill(self) -> str:
        """Ends it, if it has not ended by itself, and all its children. Returns how it ended, in words."""
        self.process.terminate()
        try:
            code = self.process.wait(timeout=KILL_S)
        except subprocess.TimeoutExpired:
            self.process.kill()  # the worker dies with its keeper
            code = self.process.wait()
        self.input.close()
        self._output.close()
        return _ending(code)

    def wait(self, timeout_s: float) -> None:
        """Waits until it has closed its end, as the last thing it does, for `timeout_s` at most."""
        poll = select.poll()
        poll.register(self._output, 0)  # only the hang-up counts
        poll.poll(max(timeout_s, 0.0) * 1e3)


def _ending(code: int) -> str:
    """A keeper's return code in words; what happened to the worker is 128 + n, as in shells."""
    number = -code if code < 0 else code - 128
    known = {sign.value: sign.name for sign in signal.Signals}
    return f"signal {known[number]}" if number in known else f"exit status {code}"
