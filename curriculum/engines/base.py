"""The seam between the scoring pass and whatever generates rollouts.

In: nothing. Out: `Request`, `Completion` and the `Engine` protocol. The pass knows no engine beyond
this; a remote or distributed one needs these four methods and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Finish = Literal["stop", "length", "abort"]


@dataclass(frozen=True, slots=True)
class Request:
    """One rollout to sample: position `index` in the group of `prompt_id`."""

    prompt_id: str
    index: int
    seed: int
    token_ids: npt.NDArray[np.int32]  # the prompt as the policy sees it; empty when replaying
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled response, or (finish "abort") why there is none."""

    prompt_id: str
    index: int
    text: str
    tokens: int | None
    finish: Finish
    mean_logprob: float | None = None
    error: str = ""


class Engine(Protocol):
    """Samples rollouts, many at a time.

    `start` and `stop` are called once each, in order, from the event loop that awaits `generate`.
    """

    @property
    def device(self) -> str:
        """What it runs on, for people: "2 × NVIDIA H100", "cpu", "replay"."""
        ...

    @property
    def devices(self) -> int:
        """How many devices an hour of it occupies."""
        ...

    async def start(self) -> None:
        """Loads the policy.

        Raises:
            EngineError: it cannot be loaded.
        """
        ...

    async def generate(self, request: Request) -> Completion:
        """Samples one rollout. A request the engine refuses comes back with finish "abort".

        Raises:
            EngineError: the engine is dead and no further request can succeed.
        """
        ...

    async def stop(self) -> None:
        """Releases everything, child processes included. Safe to call twice."""
        ...
