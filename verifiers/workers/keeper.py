"""The process between a caller and a worker: it ends when either does, and takes the whole tree along.

In: what the worker needs, from the command line. Out: the worker's exit status (128 + n for signal n).

A worker may start processes of its own (a sandbox, whatever a user's verifier runs), and may be killed in
ways that no handler in it survives. The keeper forks the worker and then only waits. It is the reaper of
all the worker's descendants, so it can find and kill every one, those that left its group or session
included, and none is left behind as a zombie.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def main(caller: int, bell: int, nice: int) -> None:
    """Forks the worker and keeps it until it ends, SIGTERM comes, or the caller's process is gone."""
    signals = {signal.SIGCHLD, signal.SIGTERM}
    for sign in signals:  # a caller that ignores them has handed that down
        signal.signal(sign, signal.SIG_DFL)
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    _die_with(caller, signal.SIGTERM)
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    keeper = os.getpid()
    worker = os.fork()
    if worker:
        os.closerange(0, 3)  # the end of the worker is to be the end of its pipes
        os.close(bell)
        _keep(worker, signals)
    signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
    _die_with(keeper, signal.SIGKILL)

    from verifiers.workers.process import main as work

    work(bell, nice)


def _die_with(parent: int, sign: int) -> None:
    """Asks the kernel for signal `sign` when the parent (the thread that started us) ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, sign)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)


def _keep(worker: int, signals: set[signal.Signals]) -> NoReturn:
    """Waits for the end of the worker or for SIGTERM, then ends all that is left below."""
    status = None
    while status is None and signal.sigwait(signals) == signal.SIGCHLD:
        status = _reap().get(worker)
    with contextlib.suppress(ChildProcessError):
        while True:
            for child in _children():
                os.kill(child, signal.SIGKILL)
            pid, ended = os.waitpid(-1, 0)  # its children are ours from here on
            status = ended if pid == worker else status
    code = os.waitstatus_to_exitcode(status or 0)
    os._exit(code if code >= 0 else 128 - code)


def _reap() -> dict[int, int]:
    """The wait status of every child that has ended, by its process id."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
