"""The journal: what was appended is there once, whatever happened in between."""

from __future__ import annotations

import pytest

from curriculum.errors import EngineError
from curriculum.scoring.journal import SCHEMA, Journal, judged_keys, parts, read_journal


def row(prompt_id: str, index: int, *, correctness: float = 1.0, outcome: str = "correct") -> tuple:
    values = {
        "pass_id": "p",
        "prompt_id": prompt_id,
        "index": index,
        "round": 0,
        "seed": 2**62 + index,
        "text": "ü",
        "tokens": 3,
        "finish": "abort" if outcome == "verifier_error" else "stop",
        "correctness": correctness,
        "reward": correctness,
        "outcome": outcome,
        "parts": [{"name": "tool", "value": 0.5}],
        "mean_logprob": None,
        "repetition": 0.0,
        "detail": "",
        "verify_ms": 0.1,
    }
    return tuple(values[name] for name in SCHEMA.names())


def test_rows_come_back_sorted_in_the_declared_schema(tmp_path) -> None:
    with Journal(tmp_path, part_rows=2) as journal:
        for index in (2, 0, 1):
            journal.append([row("b", index)])
        journal.append([row("a", 0)])
    frame = read_journal(tmp_path).collect()
    assert frame.schema == SCHEMA
    assert frame.select("prompt_id", "index").rows() == [("a", 0), ("b", 0), ("b", 1), ("b", 2)]
    assert len(parts(tmp_path)) == 2


def test_an_empty_journal_has_the_schema_too(tmp_path) -> None:
    assert read_journal(tmp_path).collect_schema() == SCHEMA
    assert judged_keys(tmp_path).is_empty()


def test_a_later_run_continues_the_numbering_and_its_row_counts(tmp_path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([row("a", 0, correctness=0.0, outcome="verifier_error"), row("a", 1)])
    with Journal(tmp_path) as journal:
        journal.append([row("a", 0)])
    assert [path.name for path in parts(tmp_path)] == ["part-000000.parquet", "part-000001.parquet"]
    keys = judged_keys(tmp_path)
    assert keys.select("prompt_id", "index", "error").rows() == [("a", 0, False), ("a", 1, False)]


def test_errors_are_marked(tmp_path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([row("a", 0, correctness=0.0, outcome="verifier_error")])
    assert judged_keys(tmp_path)["error"].to_list() == [True]


def test_what_a_killed_run_left_half_written_is_removed_and_not_read(tmp_path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([row("a", 0)])
    (tmp_path / ".tmp-part-000001.parquet").write_bytes(b"PAR1 half")
    assert read_journal(tmp_path).collect().height == 1
    with Journal(tmp_path):
        pass
    assert not list(tmp_path.glob(".tmp-*"))


def test_leaving_on_an_exception_keeps_what_was_judged(tmp_path) -> None:
    with pytest.raises(KeyboardInterrupt), Journal(tmp_path) as journal:
        journal.append([row("a", 0)])
        raise KeyboardInterrupt
    assert judged_keys(tmp_path).height == 1


def test_rows_are_on_disk_after_part_seconds(tmp_path) -> None:
    with Journal(tmp_path, part_seconds=0.0) as journal:
        journal.append([row("a", 0)])
        journal.tick()
        journal.append([row("a", 1)])
        journal.tick()
    assert len(parts(tmp_path)) == 2


def test_a_part_that_cannot_be_read_is_named(tmp_path) -> None:
    (tmp_path / "part-000000.parquet").write_bytes(b"not parquet")
    with pytest.raises(EngineError) as caught:
        judged_keys(tmp_path)
    assert "part-000000.parquet" in caught.value.where


def test_a_disk_that_refuses_ends_the_pass_with_a_remedy(tmp_path) -> None:
    journal = Journal(tmp_path, part_rows=1)
    with pytest.raises(EngineError, match="the disk is full") as caught, journal:
        (tmp_path / ".tmp-part-000000.parquet").symlink_to("/dev/full")
        journal.append([row("a", 0)])
    assert "run the same command to continue" in caught.value.do
    assert not parts(tmp_path)
