"""The fixed schedule: every rollout once, in order."""

from __future__ import annotations

from curriculum.scoring.schedule import Ask, FixedSchedule

ASKS = [Ask(prompt_id, index, 0) for prompt_id in ("b", "a") for index in range(3)]


def test_it_gives_each_ask_once_in_order() -> None:
    schedule = FixedSchedule(ASKS)
    assert schedule.take(2) + schedule.take(10) + schedule.take(10) == ASKS
    assert schedule.finished


def test_no_room_gives_nothing() -> None:
    schedule = FixedSchedule(ASKS)
    assert schedule.take(0) == schedule.take(-5) == []
    assert not schedule.finished


def test_judged_rollouts_are_not_asked_for_but_still_wanted() -> None:
    schedule = FixedSchedule(ASKS, judged={("b", 0), ("a", 2)})
    assert [(ask.prompt_id, ask.index) for ask in schedule.take(9)] == [
        ("b", 1),
        ("b", 2),
        ("a", 0),
        ("a", 1),
    ]
    assert schedule.wanted("b") == 3


def test_nothing_to_ask_is_finished() -> None:
    assert FixedSchedule([]).finished
