"""Where the answer of a response is found, and what counts as none."""

from __future__ import annotations

import pytest

from verifiers.boxed.extract import extract

BOXED = [
    (r"so $\boxed{4}$.", ("4",)),
    (r"first \boxed{3}. Wait, that is wrong. So \boxed{4}", ("4",)),
    (r"\boxed {4}", ("4",)),
    (r"\boxed 4", ("4",)),
    (r"\boxed 42$.", ("42",)),
    (r"\boxed\pi", (r"\pi",)),
    (r"\fbox{4}", ("4",)),
    (r"\\boxed{4}", ("4",)),
    (r"\boxed{\frac{1}{\sqrt{2}}}", (r"\frac{1}{\sqrt{2}}",)),
    (r"\boxed{\{1, 2\}}", (r"\{1, 2\}",)),
    (r"\boxed{\{1}", (r"\{1",)),
    (r"\boxed{\boxed{4}}", (r"\boxed{4}",)),
    (r"\boxed{a \boxed{4} b}", (r"a \boxed{4} b",)),
    (r"I open \boxed{ and go on. \boxed{4}", ("4",)),
    (r"<think>\boxed{3}</think>\boxed{4}", ("4",)),
    (r"a</think>b</think>\boxed{4}", ("4",)),
    (r"$\boxed{3}$ or $\boxed{4}$", ("3", "4")),
    (r"\boxed{3}, \boxed{4}, \boxed{5}", ("3", "4", "5")),
    (r"$x = \boxed{1}$ and $y = \boxed{2}$", ("1", "2")),
    (r"\boxed{4} \boxed{4}", ("4",)),
]


@pytest.mark.parametrize(("response", "answers"), BOXED)
def test_box_is_found(response, answers):
    assert extract(response, ["boxed"]).answers == answers


@pytest.mark.parametrize(
    ("response", "status"),
    [
        ("The result is 4", "absent"),
        ("", "absent"),
        (r"\boxedness{4}", "absent"),
        (r"<think>\boxed{4}", "absent"),
        (r"<think>\boxed{4}</think>The answer is 4.", "absent"),
        (r"So \boxed{4}. Finally \boxed{5", "malformed"),
        (r"\boxed{4\}", "malformed"),
        (r"We get 4. \boxed{}", "malformed"),
        (r"\boxed{ }", "malformed"),
        (r"\boxed{3}, \boxed{}", "malformed"),
        (r"4 \boxed", "malformed"),
        (r"\boxed(4)", "malformed"),
        (r"\boxed{" + "1" * 30_000 + "}", "malformed"),
    ],
)
def test_no_answer_is_rescued(response, status):
    assert extract(response, ["boxed"]).status == status


@pytest.mark.parametrize(
    ("response", "name", "answer"),
    [
        ("thinking\n#### 18", "hash", "18"),
        ("#### 17\n#### 18\n", "hash", "18"),
        ("5 apples\nA: 26", "answer_line", "26"),
        ("Answer: 18", "answer_line", "18"),
        ("**Answer:** 18", "answer_line", "18"),
        ("The final answer is 18.", "answer_line", "18"),
        ("so the answer is: $1,000$.", "answer_line", "$1,000$"),
        ("The answer is 3. Wait.\nThe answer is 4.", "answer_line", "4"),
        ("The answer is 4. I checked it.", "answer_line", "4"),
        ("The answer is 4.5", "answer_line", "4.5"),
        (r"Final answer: \boxed{7}", "answer_line", "7"),
        (" 42 ", "plain", "42"),
    ],
)
def test_other_formats_when_asked_for(response, name, answer):
    assert extract(response, [name]).answers == (answer,)
    assert extract(response, ["boxed"]).answers != (answer,) or "boxed" in response


def test_the_first_format_in_use_decides():
    assert extract(r"A: 5 \boxed{}", ["boxed", "answer_line"]).status == "malformed"
    assert extract("A: 5", ["boxed", "answer_line"]).answers == ("5",)
    assert extract("####", ["hash", "plain"]).status == "malformed"
