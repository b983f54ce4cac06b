"""`curriculum verify`: every row is judged or named, and the verdicts are written beside the rows."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from curriculum.cli import main
from curriculum.errors import UsageError
from curriculum.verify import VerifyOptions, verify_responses

BOXED = VerifyOptions(verifier="boxed", workers=1)

LINES = [
    '{"id": 1, "response": "so \\\\boxed{42}", "answer": "42"}',
    '{"id": "two", "response": "so \\\\boxed{41}", "answer": 42, "outcome": "old"}',
    "{broken",
    '{"id": 3, "response": null, "answer": "42"}',
    '{"id": 4, "response": "I do not know", "answer": "{\\"answer\\": \\"42\\"}"}',
    '{"id": 5, "response": ["a"], "answer": "42"}',
    '{"id": 6, "response": "\\\\boxed{42}"}',
]


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    path = tmp_path / "responses.jsonl"
    path.write_text("\n".join(LINES) + "\n")
    return path


def test_rows_are_judged_counted_or_named(responses: Path):
    result = verify_responses(str(responses), BOXED)
    assert (result.rows, result.judged) == (7, 3)
    (boxed,) = result.verifiers
    assert boxed.outcomes == {"correct": 1, "wrong": 1, "no_answer": 1}
    assert boxed.mean_correctness == pytest.approx(1 / 3)
    assert [(bad.row, bad.cause.partition(":")[0]) for bad in result.bad_rows] == [
        (3, "invalid JSON"),
        (4, "the response is missing"),
        (6, "the response is a list, not text"),
        (7, "the reference is missing"),
    ]


def test_jsonl_keeps_each_row_as_it_was_and_adds_its_verdict(responses: Path, tmp_path: Path):
    out = tmp_path / "judged.jsonl"
    verify_responses(str(responses), BOXED, out=out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["id"], row["outcome"], row["correctness"]) for row in rows] == [
        (1, "correct", 1.0),
        ("two", "wrong", 0.0),
        (4, "no_answer", 0.0),
    ]
    assert rows[1]["answer"] == 42
    assert rows[0]["parts"] == []
    assert all(row["detail"] for row in rows)


def test_parquet_has_plain_types_and_the_rows_in_order(responses: Path, tmp_path: Path):
    out = tmp_path / "judged.parquet"
    verify_responses(str(responses), BOXED, out=out)
    table = pq.read_table(out)
    assert table.column_names == ["id", "response", "answer", "correctness", "outcome", "parts", "detail"]
    assert table.schema.field("outcome").type == pa.string()
    assert str(table.schema.field("parts").type) == "list<element: struct<name: string, value: double>>"
    assert table["outcome"].to_pylist() == ["correct", "wrong", "no_answer"]


def test_causes_of_verifier_errors_are_counted(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"response": "\\\\boxed{1}", "reference": {"gold": "1"}}\n' * 3)
    (boxed,) = verify_responses(str(path), BOXED).verifiers
    assert boxed.outcomes == {"verifier_error": 3}
    assert boxed.mean_correctness is None
    assert list(boxed.errors.values()) == [3]


def test_each_row_is_judged_by_the_verifier_it_names(tmp_path: Path):
    calls = [{"name": "f", "arguments": {"x": 1}}]
    table = pa.table(
        {
            "text": ["\\boxed{7}", '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>', "?"],
            "reward_model": [
                {"ground_truth": "7"},
                {"ground_truth": json.dumps(calls)},
                {"ground_truth": "7"},
            ],
            "verifier": ["boxed", "tool_calls", None],
        }
    )
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    options = VerifyOptions(reference_key="reward_model.ground_truth", workers=1)
    result = verify_responses(str(path), options, out=tmp_path / "judged.jsonl")
    assert {count.verifier: dict(count.outcomes) for count in result.verifiers} == {
        "boxed": {"correct": 1},
        "tool_calls": {"correct": 1},
    }
    assert [str(bad) for bad in result.bad_rows] == [f"{path}, row 2: it names no verifier"]


@pytest.mark.parametrize(
    ("text", "options", "out", "says"),
    [
        ('{"response": "x", "answer": "1"}', {}, None, "no row names a verifier"),
        ('{"response": "x", "answer": "1"}', {"verifier": "boxd"}, None, "did you mean 'boxed'?"),
        ('{"reply": "x", "answer": "1"}', {"verifier": "boxed"}, None, "no column holds the response"),
        ('{"response": "x", "gold": "1"}', {"verifier": "boxed"}, None, "--reference-key: response, gold"),
        ('{"response": "", "text": "", "answer": "1"}', {"verifier": "boxed"}, None, "several columns"),
        ('{"response": "x"}', {"verifier": "boxed", "reference_key": "gold"}, None, "no column 'gold'"),
        ('{"response": null, "answer": "1"}', {"verifier": "boxed"}, None, "there is no row to judge"),
        ("", {"verifier": "boxed"}, None, "there is no row to judge"),
        ('{"response": "x", "answer": "1"}', {"verifier": "boxed"}, "judged.csv", "end it in .parquet"),
        ('{"response": "x", "answer": "1"}', {"verifier": "boxed"}, "no/judged.jsonl", "no such folder"),
    ],
)
def test_what_cannot_be_done_says_why(tmp_path: Path, text: str, options, out, says: str):
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        verify_responses(str(path), VerifyOptions(**options), out=tmp_path / out if out else None)
    assert says in str(error.value)


def test_the_command_prints_a_table_and_where_the_rows_are(responses: Path, tmp_path: Path):
    out = tmp_path / f"{'judged' * 20}.jsonl"  # longer than a line of 80 columns
    ran = CliRunner().invoke(
        main, ["verify", str(responses), "--verifier", "boxed", "--out", str(out), "--workers", "1"]
    )
    assert ran.exit_code == 0
    lines = ran.stdout.splitlines()
    assert "boxed 1 1 1 3 0.333" in [" ".join(line.split()) for line in lines]
    assert "4 of 7 rows could not be judged:" in lines
    assert lines[-1] == str(out)
    assert ran.stderr == ""


def test_the_command_prints_json(responses: Path):
    ran = CliRunner().invoke(
        main, ["verify", str(responses), "--verifier", "boxed", "--workers", "1", "--json"]
    )
    found = json.loads(ran.stdout)
    assert found["verifiers"]["boxed"]["outcomes"] == {"correct": 1, "wrong": 1, "no_answer": 1}
    assert (found["rows"], found["judged"], len(found["bad_rows"])) == (7, 3, 4)
    assert found["bad_rows"][0]["line"] == 3


def test_the_command_reports_what_stands_in_the_way(responses: Path):
    ran = CliRunner().invoke(main, ["verify", str(responses)])
    assert ran.exit_code == 2
    assert ran.stderr.splitlines()[0] == "Error: no row names a verifier"


def test_a_users_own_function_judges_a_file(responses: Path, tmp_path: Path):
    rewards = tmp_path / "own_rewards_for_verify.py"
    rewards.write_text(
        "def score(solution_str, ground_truth):\n    return float(ground_truth in solution_str)\n"
    )
    result = verify_responses(str(responses), VerifyOptions(verifier=f"{rewards}:score", workers=1))
    (own,) = result.verifiers
    assert own.outcomes == {"correct": 1, "wrong": 2}
    assert result.sandbox is None


@pytest.mark.parametrize("flags", [[], ["--allow-unsafe-execution"]])
def test_the_jail_of_generated_code_is_named(tmp_path: Path, flags: list[str]):
    path = tmp_path / "programs.jsonl"
    reference = {"entry_point": "f", "tests": [{"kind": "call", "args": [2], "expected": 4}]}
    row = {"response": "```python\ndef f(x):\n    return x * x\n```", "reference": reference}
    path.write_text(json.dumps(row) + "\n")
    asked = ["verify", str(path), "--verifier", "unit_tests", "--workers", "1", "--json", *flags]
    said = json.loads(CliRunner().invoke(main, asked, catch_exceptions=False).stdout)
    assert said["sandbox"] in ("namespaces", "bubblewrap", "landlock", "unsafe" if flags else "none")
    judged = said["verifiers"]["unit_tests"]["outcomes"]
    assert judged == ({"verifier_error": 1} if said["sandbox"] == "none" else {"correct": 1})
