"""What trainers observed, as a refresh reads it: files of many processes, some of them killed."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from curriculum.errors import UsageError
from curriculum.scoring.visits import keep_visits, pass_visits, read_visits
from pipelines.observed import VISITS

HEADER = {
    "format": "curriculum-evidence",
    "version": 1,
    "refresh_id": "r1",
    "manifest": "0" * 64,
    "checkpoint": "step_10",
    "rank": 0,
    "group_size": 4,
    "solved_at": 1.0,
    "truncated": "wrong",
}


def call(step, prompts, **columns):
    """A line of two rollouts for each prompt, one of them right."""
    line = {
        "step": step,
        "prompt_id": prompts,
        "n": 2,
        "s": 1,
        "low": 0.0,
        "high": 1.0,
        "total": 1.0,
        "unjudged": 0,
        "truncated": 0,
        "tokens": 30,
        "longest": 20,
    }
    lists = {
        name: value if name in ("step", "prompt_id") or value is None else [value] * len(prompts)
        for name, value in (line | columns).items()
    }
    return json.dumps(lists)


def write(out, *lines, refresh="r1", name="a", **header):
    folder = out / "evidence" / refresh
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join([json.dumps(HEADER | {"refresh_id": refresh} | header), *lines])
    (folder / f"{name}.jsonl").write_text(text + "\n")
    return folder / f"{name}.jsonl"


def test_nothing_observed_is_an_empty_table(tmp_path):
    assert_frame_equal(read_visits(tmp_path), pl.DataFrame(schema=VISITS))


def test_parts_of_a_group_are_put_together_over_lines_and_processes(tmp_path):
    write(tmp_path, call(7, ["a", "b"]), call(7, ["a"], s=2, low=1.0, total=2.0, longest=25))
    write(tmp_path, call(7, ["a"], s=0, high=0.0, total=0.0), call(8, ["a"]), name="b", rank=1)
    visits = read_visits(tmp_path)
    assert visits.select("prompt_id", "step", "n", "s", "low", "high", "total").rows() == [
        ("a", 7, 6, 3, 0.0, 1.0, 3.0),
        ("a", 8, 2, 1, 0.0, 1.0, 1.0),
        ("b", 7, 2, 1, 0.0, 1.0, 1.0),
    ]
    assert visits.select("refresh_id", "checkpoint", "tokens", "longest").row(0) == ("r1", "step_10", 90, 25)


def test_sets_are_kept_apart_and_the_newest_is_known(tmp_path):
    write(tmp_path, call(7, ["a"]))
    write(tmp_path, call(7, ["a"]), refresh="r2")
    (tmp_path / "refreshes" / "r2").mkdir(parents=True)
    (tmp_path / "refreshes" / "r2" / "manifest.json").write_text("{}")
    (tmp_path / "LATEST").write_text("r2\n")
    assert read_visits(tmp_path).select("refresh_id", "newest").rows() == [("r1", False), ("r2", True)]


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_the_last_line_of_a_killed_process_is_left_out(tmp_path, cut):
    path = write(tmp_path, call(7, ["a"]), call(8, ["a"]))
    path.write_bytes(path.read_bytes().rstrip()[:-cut])
    assert read_visits(tmp_path)["step"].to_list() == [7]


@pytest.mark.parametrize("left", [0, 30])
def test_a_process_that_was_killed_at_its_first_line_says_nothing(tmp_path, left):
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[:left])
    assert read_visits(tmp_path).is_empty()


@pytest.mark.parametrize(
    ("lines", "header", "says"),
    [
        (["{", call(8, ["a"])], {}, "line 2"),
        ([json.dumps({"step": 1})], {}, "damaged"),
        ([call(8, ["a"]).replace("[2]", "[2, 2]")], {}, "damaged"),
        ([call(8, ["a"], n="two")], {}, "damaged"),
        ([], {"version": 2}, "not evidence of version 1"),
        ([], {"format": "other"}, "format other"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_a_way_out(tmp_path, lines, header, says):
    write(tmp_path, *lines, **header)
    with pytest.raises(UsageError) as error:
        read_visits(tmp_path)
    assert says in str(error.value)
    assert "--ignore-evidence" in error.value.do


MARKS = [
    ({"low": -1.0, "total": 0.0}, {}, (0.0, 1.0, 1.0)),  # one right, one punished: half of the marks
    ({"low": -1.0, "high": -0.5, "total": -1.5, "s": 0}, {}, (0.0, 0.0, 0.0)),
    ({"low": 0.0, "high": 2.0, "total": 2.0}, {"solved_at": 2.0}, (0.0, 1.0, 1.0)),
    ({"low": 1.0, "high": 1.5, "total": 2.5, "s": 2}, {}, (1.0, 1.0, 2.0)),
    ({"low": 0.25, "high": 1.0, "total": 1.25}, {}, (0.25, 1.0, 1.25)),
    ({"low": None, "high": None, "total": None, "n": 0, "s": 0}, {}, (None, None, 0.0)),
]


@pytest.mark.parametrize(("columns", "header", "marks"), MARKS)
def test_rewards_are_read_as_correctness(tmp_path, columns, header, marks):
    write(tmp_path, call(7, ["a"], **columns), **header)
    assert read_visits(tmp_path).select("low", "high", "total").row(0) == marks


def test_lengths_that_were_told_of_a_part_only_are_unknown(tmp_path):
    write(tmp_path, call(7, ["a"]), call(7, ["a"], tokens=None, longest=None), call(8, ["a"], tokens=None))
    assert read_visits(tmp_path).select("tokens", "longest").rows() == [(None, None), (None, 20)]


def test_masked_rollouts_are_known_by_the_header(tmp_path):
    write(tmp_path, call(7, ["a"]), truncated="excluded")
    write(tmp_path, call(7, ["a"]), name="b")
    assert read_visits(tmp_path)["masked"].to_list() == [False, True]


def test_a_pass_goes_on_with_what_it_began_with(tmp_path):
    out, folder, prompts = tmp_path / "out", tmp_path / "pass", pl.Series(["a", "b"])
    write(out, call(7, ["a", "other"]))
    begun = pass_visits(folder, out, prompts, anew=False)
    assert begun["prompt_id"].to_list() == ["a"]
    keep_visits(folder, begun)
    write(out, call(8, ["b"]), name="later")
    assert_frame_equal(pass_visits(folder, out, prompts, anew=False), begun)
    assert pass_visits(folder, out, prompts, anew=True)["prompt_id"].to_list() == ["a", "b"]


def test_a_pass_that_began_with_nothing_goes_on_with_nothing(tmp_path):
    out, folder, prompts = tmp_path / "out", tmp_path / "pass", pl.Series(["a"])
    keep_visits(folder, pass_visits(folder, out, prompts, anew=False))
    write(out, call(7, ["a"]))
    assert pass_visits(folder, out, prompts, anew=False).is_empty()


def test_a_pass_that_lost_what_it_began_with_says_so(tmp_path):
    (tmp_path / "visits.parquet").write_text("no table")
    with pytest.raises(UsageError, match=r"visits\.parquet"):
        pass_visits(tmp_path, tmp_path, pl.Series(["a"]), anew=False)
