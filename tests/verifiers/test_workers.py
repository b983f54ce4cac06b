"""What the workers answer: one verdict per item, whatever a verifier does short of losing its worker."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from verifiers.shaping import RewardShape
from verifiers.verdict import Part, Verdict
from verifiers.workers import Item, VerifierWorkers, WorkersError

HERE = Path(__file__).parent


def test_every_key_is_judged_once_and_rightly(make_judge):
    judge = make_judge(batch_items=7)
    keys = [("prompt", i) for i in range(500)]
    for key in keys:
        text = "so 42" if key[1] % 3 else "so 41"
        judge.workers.submit([Item(key, "worker_cases:Contains", text, '{"answer": "42"}')])
    judge.workers.close()
    assert sorted(judge.judged) == keys
    assert all(
        (judged.verdict.outcome == "correct") == bool(key[1] % 3) for key, judged in judge.judged.items()
    )


def test_a_verdict_comes_back_whole(make_judge):
    judge = make_judge(rewards=RewardShape(correct=0.75))
    judge("is it 42? " * 20)
    judge.workers.close()
    (judged,) = judge.judged.values()
    assert judged.verdict.outcome == "correct"
    assert [(part.name, part.value) for part in judged.verdict.parts] == [("contains", 1.0)]
    assert judged.verdict.detail == "looked for the answer"
    assert judged.reward == 0.75
    assert judged.repetition > 0.9
    assert judged.verify_ms > 0.0


def test_a_verifier_that_fails_is_a_verifier_error_with_its_cause(make_judge):
    causes = {
        "raise": "misbehaves raised ZeroDivisionError: by nothing",
        "sys.exit": "misbehaves raised SystemExit: enough",
        "nothing": "misbehaves returned NoneType, not a Verdict",
        "bad part": "misbehaves raised AttributeError: 'str' object has no attribute 'name'",
    }
    judge = make_judge(workers=1)
    judge(*causes, "42")
    judge.workers.close()
    assert judge.judged.pop("42").verdict.outcome == "correct"
    assert {judged.verdict.outcome for judged in judge.judged.values()} == {"verifier_error"}
    assert {key: judged.verdict.detail for key, judged in judge.judged.items()} == causes


def test_an_unreadable_reference_is_a_verifier_error(make_judge):
    judge = make_judge(workers=1)
    for reference in ("{", "", "[" * 100_000):
        judge.workers.submit([Item(reference, "worker_cases:Contains", "42", reference)])
    judge("42", reference="[1]")
    judge.workers.close()
    assert {judged.verdict.outcome for judged in judge.judged.values()} == {"verifier_error"}
    assert all(
        judged.verdict.detail.startswith("the reference cannot be read: ") for judged in judge.judged.values()
    )
    assert judge.judged["42"].verdict.detail.endswith("it is a JSON list, not an object")


def test_a_verifier_that_cannot_be_loaded_is_a_verifier_error(make_judge):
    causes = {
        "Missing": "cannot load worker_cases:Missing",
        "RaisesOnImport": "OSError: the word list is missing",
        "ExitsOnImport": "its worker process ended with exit status 9, 2 times",
    }
    judge = make_judge(workers=1)
    for verifier in causes:
        judge.workers.submit([Item(verifier, f"worker_cases:{verifier}", "42", "{}")])
    judge.workers.close()
    for verifier, cause in causes.items():
        assert judge.judged[verifier].verdict.outcome == "verifier_error"
        assert cause in judge.judged[verifier].verdict.detail


def test_a_given_verifier_stands_in_for_a_registered_one(make_judge):
    import worker_cases

    judge = make_judge(workers=1, verifiers={"boxed": worker_cases.Suffixed("!"), "lambda": Unpicklable()})
    judge.workers.submit([Item(0, "boxed", "42!", '{"answer": "42"}')])
    judge.workers.submit([Item(1, "boxed", "42", '{"answer": "42"}')])
    judge.workers.submit([Item(2, "lambda", "42", '{"answer": "42"}')])
    judge.workers.close()
    assert [judge.judged[key].verdict.outcome for key in range(3)] == ["correct", "wrong", "verifier_error"]
    assert "what was given cannot be unpickled: RuntimeError: not here" in judge.judged[2].verdict.detail


class Unpicklable:
    name = "unpicklable"
    version = "1"

    def __reduce__(self):
        return exec, ("raise RuntimeError('not here')",)


def test_values_of_other_libraries_become_plain(make_judge):
    judge = make_judge(workers=1)
    judge("numpy")
    judge.workers.close()
    verdict = judge.judged["numpy"].verdict
    assert verdict == Verdict(0.5, "partial", (Part("partial", 0.5),), "?")
    assert type(verdict.correctness) is type(verdict.parts[0].value) is float
    assert type(verdict.outcome) is type(verdict.parts[0].name) is str


def test_output_of_a_verifier_neither_blocks_nor_mixes_with_answers(make_judge, capfd):
    judge = make_judge(workers=1)
    judge("print: 42", "huge")
    judge.workers.close()
    assert judge.judged["print: 42"].verdict.outcome == "correct"
    assert len(judge.judged["huge"].verdict.detail) <= 1000
    out, err = capfd.readouterr()
    assert out == ""
    assert "yyy" in err


def test_any_text_passes_through(make_judge):
    judge = make_judge(workers=1)
    larger_than_a_pipe = [f"{i} " + "word " * 400_000 + "42" for i in range(6)]
    texts = [*larger_than_a_pipe, "\ud800 \x00 42", "42\r\n\u2028"]
    judge(*texts)
    judge.workers.close()
    assert all(judge.judged[text].verdict.outcome == "correct" for text in texts)


def test_an_item_costs_the_caller_under_60_microseconds_of_processor_time(make_judge):
    judge = make_judge(workers=1)
    judge("42")
    judge.wait_for("42")
    count = 8_000
    began = time.process_time()
    for start in range(0, count, 32):
        keys = range(start, start + 32)
        judge.workers.submit(
            [Item(key, "worker_cases:Contains", "so 42", '{"answer": "42"}') for key in keys]
        )
    judge.workers.close()
    assert len(judge.judged) == count + 1
    assert (time.process_time() - began) / count < 60e-6


def test_a_slow_item_holds_back_neither_those_before_it_nor_those_behind(make_judge):
    judge = make_judge(workers=2, deadline_s=60.0)
    judge("42 warm up")
    judge.wait_for("42 warm up")
    before, behind = [f"42 before {i}" for i in range(20)], [f"42 behind {i}" for i in range(20)]
    judge(*before, "hang", *behind)
    judge.wait_for(*before, *behind, timeout_s=5.0)
    assert judge.workers.pending == 1


def test_items_may_be_submitted_from_many_threads_and_from_on_judged(make_judge):
    judge = make_judge()
    take = judge._take

    def take_and_submit(batch):
        take(batch)
        judge(*(f"{judged.key} again" for judged in batch if "again" not in judged.key))

    judge.workers._on_judged = take_and_submit
    threads = [
        threading.Thread(target=lambda n=n: [judge(f"42 {n} {i}") for i in range(50)]) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until = time.monotonic() + 20
    while len(judge.judged) < 400:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert judge.workers.pending == 0


def test_an_event_loop_goes_on_while_items_are_judged(make_judge):
    async def main():
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        judge = make_judge()
        judge.workers._on_judged = lambda batch: loop.call_soon_threadsafe(done.set)
        began = time.perf_counter()
        judge("42", reference='{"answer": "42", "delay": 1.0}')
        submitted_s = time.perf_counter() - began
        await asyncio.wait_for(done.wait(), 10)
        return submitted_s

    assert asyncio.run(main()) < 0.5


def test_a_folder_with_names_of_the_standard_library_does_no_harm(make_judge, monkeypatch, tmp_path):
    (tmp_path / "json.py").write_text("raise RuntimeError('not the json you meant')")
    monkeypatch.chdir(tmp_path)
    judge = make_judge(workers=1)
    judge("42")
    judge.workers.close()
    assert judge.judged["42"].verdict.outcome == "correct"


def test_a_plain_script_needs_no_main_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import json, sys
            sys.path.insert(0, sys.argv[1])
            from verifiers.shaping import RewardShape
            from verifiers.workers import Item, VerifierWorkers
            got = []
            with VerifierWorkers(workers=2, rewards=RewardShape(), on_judged=got.extend) as workers:
                workers.submit([Item(i, "worker_cases:Contains", "42", '{"answer": "42"}') for i in range(9)])
            print(json.dumps(sorted(judged.key for judged in got)))
            """
        )
    )
    done = subprocess.run(
        [sys.executable, script, HERE], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.stdout, done.stderr) == (json.dumps(list(range(9))) + "\n", "")


def test_room_is_waited_for_and_regained(make_judge):
    judge = make_judge(workers=1, max_pending=3)
    assert judge.workers.wait_for_room(timeout_s=0.0)
    judge("42", "a", "b", "c", reference='{"answer": "42", "delay": 0.1}')
    assert not judge.workers.wait_for_room(timeout_s=0.0)
    assert judge.workers.wait_for_room(timeout_s=10.0)
    assert judge.workers.pending < 3


def test_a_failing_caller_ends_the_workers_and_hears_of_it(make_judge):
    heard = []

    def refuse(batch):
        raise KeyError("no such row")

    judge = make_judge(on_judged=refuse, on_failure=heard.append)
    judge("42")
    with pytest.raises(WorkersError, match=r"KeyError: 'no such row'") as failure:
        judge.workers.close()
    assert isinstance(failure.value.__cause__, KeyError)
    assert heard == [failure.value]
    for use in (lambda: judge("42"), lambda: judge.workers.pending, judge.workers.wait_for_room):
        with pytest.raises(WorkersError):
            use()


def test_closed_workers_take_no_items(make_judge):
    judge = make_judge(workers=1)
    judge.workers.close()
    judge.workers.close()
    with pytest.raises(WorkersError, match="closed"):
        judge("42")


@pytest.mark.parametrize(
    "setting", [{"workers": 0}, {"batch_items": 0}, {"max_pending": 0}, {"deadline_s": 0.0}]
)
def test_settings_must_be_positive(setting):
    with pytest.raises(ValueError, match="must be positive"):
        VerifierWorkers(**{"workers": 1, "rewards": RewardShape(), "on_judged": list, **setting})
