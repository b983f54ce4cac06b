"""What happens when worker processes die or hang: nothing is lost, nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from verifiers.workers import WorkersError
from verifiers.workers.channel import pack

HERE = Path(__file__).parent

OTHERS = [f"42 other {i}" for i in range(30)]
RIGHT = ("result", 1.0, "correct", (), "forged", 0.0, 0.1)


def keepers_of(judge) -> list[int]:
    """Of the workers that have started."""
    return [worker.process.pid for worker in judge.workers._dispatcher._workers if worker.ready]


def worker_of(keeper: int) -> int:
    return int(Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()[0])


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_gone(*pids: int, timeout_s: float = 5.0) -> None:
    until = time.monotonic() + timeout_s
    while alive := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < until, f"still alive: {alive}"
        time.sleep(0.01)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_item_that_costs_two_workers_is_given_up_and_no_other_is_lost(make_judge, workers):
    causes = {
        "hang": "verification exceeded 0.7 s, 2 times",
        "hog": "verification exceeded 0.7 s, 2 times",
        "exit:3": "its worker process ended with exit status 3, 2 times",
        "segfault": "its worker process ended with signal SIGSEGV, 2 times",
    }
    judge = make_judge(workers=workers, deadline_s=0.7)
    judge(*OTHERS[:15], *causes, *OTHERS[15:])
    judge.workers.close()
    assert judge.judged.keys() == {*causes, *OTHERS}
    for response, cause in causes.items():
        lost = judge.judged[response]
        assert (lost.verdict.outcome, lost.verdict.detail, lost.verify_ms) == ("verifier_error", cause, 0.0)
    assert all(judge.judged[other].verdict.outcome == "correct" for other in OTHERS)


@pytest.mark.parametrize(
    "response",
    [
        "change pickle",
        f"write to every pipe:{pack(True).hex()}",
        f"write to every pipe:{(pack(RIGHT) * 9).hex()}",
        f"write to every pipe:{(b'nonsense' * 9).hex()}",
    ],
)
def test_a_worker_that_says_what_no_worker_says_is_given_up_and_no_other_item_is_lost(make_judge, response):
    judge = make_judge(workers=1, deadline_s=0.7)
    judge(*OTHERS[:15], response, *OTHERS[15:])
    judge.workers.close()
    assert judge.judged.keys() == {response, *OTHERS}
    if pack(RIGHT).hex() not in response:  # a forged verdict is a verdict, if only for whom it is forged
        assert judge.judged[response].verdict.outcome == "verifier_error"
        assert all(judge.judged[other].verdict.outcome == "correct" for other in OTHERS)


def test_an_item_whose_worker_dies_once_is_tried_again(make_judge, tmp_path):
    judge = make_judge(workers=1)
    response = f"crash once:{tmp_path / 'mark'}"
    judge(*OTHERS, response)
    judge.workers.close()
    assert judge.judged[response].verdict.outcome == "correct"
    assert len(judge.judged) == len(OTHERS) + 1


@pytest.mark.parametrize("kill", ["worker", "keeper"])
def test_kill_9_at_any_moment_loses_and_doubles_nothing(make_judge, kill):
    judge = make_judge(workers=2)
    keys = [f"42 item {i}" for i in range(400)]
    judge(*keys, reference='{"answer": "42", "delay": 0.002}')
    for _ in range(4):
        time.sleep(0.1)
        for keeper in keepers_of(judge)[:1]:
            os.kill(keeper if kill == "keeper" else worker_of(keeper), signal.SIGKILL)
    judge.workers.close()
    assert judge.judged.keys() == set(keys)
    assert {judged.verdict.outcome for judged in judge.judged.values()} == {"correct"}


def test_an_idle_worker_that_was_killed_is_replaced(make_judge):
    judge = make_judge(workers=1)
    (keeper,) = keepers_of(judge)
    os.kill(worker_of(keeper), signal.SIGKILL)
    wait_until_gone(keeper)
    judge("42")
    judge.workers.close()
    assert judge.judged["42"].verdict.outcome == "correct"


def test_a_stopped_worker_counts_as_hanging(make_judge):
    judge = make_judge(workers=1, deadline_s=0.7)
    (keeper,) = keepers_of(judge)
    os.kill(worker_of(keeper), signal.SIGSTOP)
    judge("42")
    judge.workers.close()
    assert judge.judged["42"].verdict.outcome == "correct"


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/python"])
def test_workers_that_cannot_start_are_an_error_at_once(make_judge, monkeypatch, program):
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(WorkersError, match=r"in a row were lost before they were ready|cannot be started"):
        make_judge(workers=2)


def test_workers_that_can_no_longer_start_are_an_error_for_all_who_wait(make_judge, monkeypatch):
    heard = threading.Event()
    judge = make_judge(workers=1, on_failure=lambda failure: heard.set())
    monkeypatch.setattr(sys, "executable", "/bin/false")
    judge("exit:1", "42")
    assert heard.wait(10)
    with pytest.raises(WorkersError, match="3 verifier workers in a row"):
        judge.workers.close()


@pytest.mark.parametrize("response", ["hang", "hog"])
def test_closing_without_draining_is_quick_and_leaves_nothing(make_judge, response):
    judge = make_judge(workers=2)
    judge(response)
    time.sleep(0.3)
    pids = [pid for keeper in keepers_of(judge) for pid in (keeper, worker_of(keeper))]
    began = time.monotonic()
    judge.workers.close(drain=False)
    assert time.monotonic() - began < 1.5
    assert not any(is_alive(pid) for pid in pids)
    assert judge.judged == {}


def test_an_exception_in_the_block_abandons_what_is_pending(make_judge):
    judge = make_judge(workers=1)
    judge("hang")
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="the engine died"), judge.workers:
        raise RuntimeError("the engine died")
    assert time.monotonic() - began < 3.0


def _pids_in(path: Path) -> list[int]:
    until = time.monotonic() + 20
    while not path.exists() or len(path.read_text().split()) < 3:
        assert time.monotonic() < until
        time.sleep(0.01)
    return [int(pid) for pid in path.read_text().split()]


def test_the_children_of_a_worker_go_with_it(make_judge, tmp_path):
    judge = make_judge(workers=1)
    judge(f"children:{tmp_path / 'pids'}")
    pids = _pids_in(tmp_path / "pids")
    os.kill(pids[0], signal.SIGKILL)
    wait_until_gone(*pids)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids), "a zombie is left"


def test_the_children_of_a_worker_go_at_the_end(make_judge, tmp_path):
    judge = make_judge(workers=1)
    judge(f"children:{tmp_path / 'pids'}")
    pids = _pids_in(tmp_path / "pids")
    judge.workers.close(drain=False)
    wait_until_gone(*pids)


SCRIPT = """
    import sys, time
    sys.path.insert(0, sys.argv[1])
    from verifiers.shaping import RewardShape
    from verifiers.workers import Item, VerifierWorkers
    with VerifierWorkers(workers=2, rewards=RewardShape(), on_judged=list) as workers:
        workers.submit([Item(i, "worker_cases:Misbehaves", f"{sys.argv[2]}{i}", "{}") for i in (1, 2)])
        print(*(worker.process.pid for worker in workers._dispatcher._workers), flush=True)
        time.sleep(0.5)
        print("busy", flush=True)
        %s
"""


def _start_script(tmp_path: Path, response: str, then: str) -> tuple[subprocess.Popen[str], list[int]]:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT % then))
    process = subprocess.Popen(
        [sys.executable, script, HERE, response], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert process.stdout.readline() == "busy\n"
    return process, workers


@pytest.mark.parametrize("kind", ["hog", "children"])
def test_nothing_outlives_a_killed_parent(tmp_path, kind):
    response = "hog:" if kind == "hog" else f"children:{tmp_path}/pids"
    process, pids = _start_script(tmp_path, response, "time.sleep(3600)")
    if kind == "children":
        pids += _pids_in(tmp_path / "pids1") + _pids_in(tmp_path / "pids2")
    process.kill()
    process.communicate()
    wait_until_gone(*pids)


@pytest.mark.parametrize("then", ["time.sleep(3600)", "workers.close()"])
def test_ctrl_c_ends_everything_quickly(tmp_path, then):
    process, pids = _start_script(tmp_path, "hang:", then)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert time.monotonic() - began < 3.0
    assert errors.rstrip().endswith("KeyboardInterrupt")
    wait_until_gone(*pids)
