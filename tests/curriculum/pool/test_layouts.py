"""Layouts are recognised by their columns; ground truths become references, and go back."""

from __future__ import annotations

import json

import pytest

from curriculum.errors import UsageError
from curriculum.pool.identity import canonical
from curriculum.pool.layouts import ReadOptions, find_keys, ground_truth_of, reference_of


@pytest.mark.parametrize(
    ("columns", "layout", "reference", "domain"),
    [
        (
            "data_source prompt ability reward_model extra_info",
            "verl",
            "reward_model.ground_truth",
            "data_source",
        ),
        ("prompt reward_model answer verifier", "verl", "reward_model.ground_truth", None),
        ("prompt verifier reference domain", "native", "reference", "domain"),
        ("prompt solution", "trl", "solution", None),
        ("prompt answer data_source domain", "trl", "answer", "data_source"),
        ("prompt label domain", "trl", "label", "domain"),
        ("input label datasource", "openrlhf", "label", "datasource"),
        ("data_source prompt env_class reward_spec", "skyrl", "reward_spec.ground_truth", "data_source"),
        ("prompt label metadata domain", "slime", "label", "domain"),
        ("prompt solution metadata", "trl", "solution", None),
        ("input output domain", "nemo_rl", "output", "domain"),
    ],
)
def test_layouts_are_recognised(columns: str, layout: str, reference: str, domain: str | None) -> None:
    keys = find_keys(columns.split(), ReadOptions(), where="f")
    assert (keys.layout, ".".join(keys.reference)) == (layout, reference)
    assert keys.domain == ((domain,) if domain else None)
    assert keys.verifier == (("verifier",) if "verifier" in columns else None)


@pytest.mark.parametrize(
    ("options", "layout", "prompt", "reference"),
    [
        ({"prompt_key": "question"}, "trl", ("question",), ("answer",)),
        ({"prompt_key": "question", "reference_key": "gold"}, "trl", ("question",), ("gold",)),
        ({"prompt_key": "question", "reference_key": "info.gold"}, "trl", ("question",), ("info", "gold")),
        (
            {"prompt_key": "question", "layout": "openrlhf", "reference_key": "gold"},
            "openrlhf",
            ("question",),
            ("gold",),
        ),
    ],
)
def test_keys_stand_in_for_the_usual_names(options, layout, prompt, reference) -> None:
    keys = find_keys(["question", "answer", "gold", "info"], ReadOptions(**options), where="f")
    assert (keys.layout, keys.prompt, keys.reference) == (layout, prompt, reference)


@pytest.mark.parametrize(
    ("columns", "options", "what", "do"),
    [
        ("question answer", {}, "no layout fits", "prompt_key"),
        ("prompt solution answer", {}, "several columns could be", "reference_key = 'solution'"),
        ("prompt answer", {"reference_key": "anwser"}, "no column 'anwser'", "did you mean 'answer'"),
        ("prompt answer", {"domain_key": "zzz"}, "no column 'zzz'", "prompt, answer"),
        ("question answer", {"layout": "verl"}, "no column 'prompt'", "question, answer"),
    ],
)
def test_columns_that_do_not_fit_are_named(columns: str, options, what: str, do: str) -> None:
    with pytest.raises(UsageError, match=what) as error:
        find_keys(columns.split(), ReadOptions(**options), where="pool.parquet")
    assert do in error.value.do
    assert error.value.where == "pool.parquet"


ASSERTION = {"kind": "assert", "code": "assert f(1) == 2"}
WRITTEN = '<think> so </think>\n<tool_call>\n{"name": "f", "parameters": {}}\n</tool_call>'


@pytest.mark.parametrize(
    ("truth", "verifier", "reference"),
    [
        ("18", "boxed", {"answer": "18"}),
        (" 18 ", "boxed", {"answer": " 18 "}),
        (r"\{1,2\}", "boxed", {"answer": r"\{1,2\}"}),
        ("{}", "boxed", {"answer": "{}"}),
        ("{1, 2}", "boxed", {"answer": "{1, 2}"}),
        ("[1, 2]", "boxed", {"answer": "[1, 2]"}),
        ('{"answers": ["1", "2"]}', "boxed", {"answers": ["1", "2"]}),
        (["1", 2], "boxed", {"answers": ["1", "2"]}),
        (18, "boxed", {"answer": "18"}),
        (0.5, "boxed", {"answer": "0.5"}),
        (True, "boxed", {"answer": "true"}),
        ({"answer": "1", "tolerance": 0.1}, "boxed", {"answer": "1", "tolerance": 0.1}),
        ('[{"input": "1"}]', "unit_tests", {"tests": [{"input": "1"}]}),
        ([{"input": "1"}], "unit_tests", {"tests": [{"input": "1"}]}),
        ("assert f(1) == 2", "unit_tests", {"tests": [ASSERTION]}),
        (["assert f(1) == 2"], "unit_tests", {"tests": [ASSERTION]}),
        ('["assert f(1) == 2"]', "unit_tests", {"tests": [ASSERTION]}),
        (WRITTEN, "tool_calls", {"tools": [], "calls": WRITTEN}),
        (WRITTEN, "boxed", {"answer": WRITTEN}),
        (json.dumps({"calls": WRITTEN}), "tool_calls", {"calls": WRITTEN}),
        ('[{"name": "f"}]', "tool_calls", {"calls": [{"name": "f"}]}),
        ('[{"name": "f"', "tool_calls", {"answer": '[{"name": "f"'}),
        ("[1]", "my.module:Mine", {"answer": "[1]"}),
        ("", "boxed", None),
        ("  ", "boxed", None),
        (None, "boxed", None),
        ([], "boxed", None),
        ({}, "unit_tests", None),
    ],
)
def test_a_ground_truth_becomes_a_reference(truth, verifier: str, reference) -> None:
    assert reference_of(truth, verifier) == reference


@pytest.mark.parametrize(
    ("reference", "verifier", "truth"),
    [
        ({"answer": "18"}, "boxed", "18"),
        ({"answer": "[1, 2]"}, "boxed", "[1, 2]"),
        ({"answer": "[1, 2]"}, "unit_tests", '{"answer":"[1, 2]"}'),
        ({"answer": '{"a": 1}'}, "boxed", r'{"answer":"{\"a\": 1}"}'),
        ({"answer": "1", "tolerance": 0.1}, "boxed", '{"answer":"1","tolerance":0.1}'),
        ({"tests": [1]}, "unit_tests", '{"tests":[1]}'),
    ],
)
def test_a_reference_goes_back_to_what_reads_the_same(reference, verifier: str, truth: str) -> None:
    assert ground_truth_of(reference, canonical(reference), verifier) == truth
    assert reference_of(truth, verifier) == reference
