"""Programs and zygotes end when they should, whoever dies first, from threads and after forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from verifiers import sandbox
from verifiers.sandbox import DeadlineError, Limits, SandboxError, frames
from verifiers.sandbox.values import decode, encode

ROOT = Path(__file__).resolve().parents[3]
SOLUTION = encode(("", "def f(x): return x * 2\ndef spin(x):\n    while True: pass", "f"))


def soon() -> float:
    return time.monotonic() + 20


USUAL = Limits()


def double(number: int, limits: Limits = USUAL) -> int:
    """Asks a jailed program to double `number`."""
    with sandbox.runner().start(limits) as program:
        program.channel.send(frames.SOLUTION, SOLUTION, deadline=soon())
        assert program.channel.receive(deadline=soon()).kind == frames.LOADED
        program.channel.send(frames.CALL, encode(("f", [number], {})), deadline=soon())
        value, _ = decode(program.channel.receive(deadline=soon()).body)
    return int(value)


def wait_until(condition: object, seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.01)
    return False


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_many_threads_share_one_zygote() -> None:
    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(double, range(48))) == [2 * number for number in range(48)]


def test_no_descriptors_are_left() -> None:
    double(1)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(10):
        double(number)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_ending_kills_a_program_that_spins() -> None:
    with sandbox.runner().start(Limits()) as program:
        program.channel.send(frames.SOLUTION, SOLUTION, deadline=soon())
        program.channel.receive(deadline=soon())
        program.channel.send(frames.CALL, encode(("spin", [1], {})), deadline=soon())
        with pytest.raises(DeadlineError):
            program.channel.receive(deadline=time.monotonic() + 0.2)
        assert program.end() == -signal.SIGKILL


def test_a_zygote_outlives_the_thread_that_started_it() -> None:
    runner = sandbox.runner()
    runner.close()
    thread = threading.Thread(target=double, args=(1,))
    thread.start()
    thread.join()
    pid = sandbox.runner().pid
    time.sleep(0.1)
    assert double(3) == 6
    assert sandbox.runner().pid == pid


def test_a_killed_zygote_is_replaced() -> None:
    double(1)
    os.kill(sandbox.runner().pid, signal.SIGKILL)
    with pytest.raises(SandboxError):
        double(2)
    assert double(2) == 4


def test_a_forked_child_has_its_own_zygote() -> None:
    double(1)
    mine = sandbox.runner().pid
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if double(4) == 8 and sandbox.runner().pid != mine else 2
            sandbox.runner().close()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert double(5) == 10
    assert sandbox.runner().pid == mine


def programs() -> list[int]:
    """The processes below the zygote: programs, and a spare."""
    below = [sandbox.runner().pid]
    if sandbox.level().name == "namespaces":  # the zygote proper is the child of an outer half
        below = children(below[0])
    return [pid for zygote in below for pid in children(zygote)]


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_spare_waits_for_the_next_program_and_does_not_stay() -> None:
    for number in range(3):
        double(number)
    assert wait_until(lambda: not programs())
    assert double(3) == 6


def test_a_spare_that_was_killed_is_replaced() -> None:
    for number in range(10):
        double(number)
        for pid in programs():
            os.kill(pid, signal.SIGKILL)
            assert wait_until(lambda pid=pid: is_gone(pid))
        assert double(number) == 2 * number


def test_limits_may_change_with_every_program() -> None:
    sizes = [Limits(memory_bytes=megabytes << 20) for megabytes in (256, 512, 512, 512)]
    assert [double(number, sizes[number % 4]) for number in range(24)] == [2 * n for n in range(24)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_zygote_dies_with_its_parent(number: signal.Signals) -> None:
    script = (
        "import sys, time\n"
        "from verifiers import sandbox\n"
        "from verifiers.sandbox import Limits\n"
        "program = sandbox.runner().start(Limits())\n"
        "print(sandbox.runner().pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as parent:
        assert parent.stdout is not None
        zygote = int(parent.stdout.readline())
        below = Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()
        parent.send_signal(number)
        parent.wait()
        assert wait_until(lambda: all(is_gone(int(pid)) for pid in (zygote, *below)))
