"""Workers for the tests, whose verifiers are in `worker_cases` beside this file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from verifiers.shaping import RewardShape
from verifiers.workers import Item, Judged, VerifierWorkers

HERE = Path(__file__).parent


class Judge:
    """Workers and what they have judged, by key; a key judged twice fails at once."""

    def __init__(self, **settings: Any) -> None:
        self.judged: dict[object, Judged] = {}
        self.workers = VerifierWorkers(
            **{"workers": 2, "rewards": RewardShape(), "on_judged": self._take, "nice": 0, **settings}
        )

    def _take(self, batch: Sequence[Judged]) -> None:
        for judged in batch:
            assert judged.key not in self.judged
            self.judged[judged.key] = judged

    def __call__(
        self, *responses: str, verifier: str = "Misbehaves", reference: str = '{"answer": "42"}'
    ) -> None:
        """Submits responses with themselves as keys."""
        self.workers.submit([Item(text, f"worker_cases:{verifier}", text, reference) for text in responses])

    def wait_for(self, *keys: object, timeout_s: float = 20.0) -> None:
        until = time.monotonic() + timeout_s
        while not self.judged.keys() >= set(keys):
            assert time.monotonic() < until, f"still missing: {set(keys) - self.judged.keys()}"
            time.sleep(0.005)


@pytest.fixture
def make_judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Judge]]:
    """Makes a `Judge`; its workers are gone after the test."""
    monkeypatch.setattr(sys, "path", [str(HERE), *sys.path])
    made: list[Judge] = []

    def make(**settings: Any) -> Judge:
        made.append(Judge(**settings))
        return made[-1]

    yield make
    for judge in made:
        judge.workers.close(drain=False)
