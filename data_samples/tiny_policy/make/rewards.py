"""Judges rollouts with the project's own verifiers.

In: tasks and the text of one rollout of each. Out: their verdicts, remembered, so that a response seen
before costs nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from data_samples.tiny_policy.make.tasks import VERIFIERS, Task
from verifiers import registry
from verifiers.verdict import Verdict

THREADS = 4
"""Judged at once: unit tests mostly wait for the processes that run them."""


class Judge:
    """Verdicts by (prompt, response)."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Verdict] = {}
        self.threads = ThreadPoolExecutor(THREADS)

    def __call__(self, tasks: list[Task], responses: list[str]) -> list[Verdict]:
        """The verdict on each of `responses`, the answers to `tasks` in the same order.

        Raises:
            RuntimeError: a verifier could not judge; its detail says why.
        """
        keys = [(task.prompt, response) for task, response in zip(tasks, responses, strict=True)]
        new = {key: task for key, task in zip(keys, tasks, strict=True) if key not in self.known}
        self.known.update(
            zip(new, self.threads.map(judge, new.values(), [key[1] for key in new]), strict=True)
        )
        return [self.known[key] for key in keys]


def judge(task: Task, response: str) -> Verdict:
    verdict = registry.get(VERIFIERS[task.family]).verify(response, task.reference)
    if verdict.outcome == "verifier_error":
        raise RuntimeError(f"{VERIFIERS[task.family]} on {response!r} to {task.prompt!r}: {verdict.detail}")
    return verdict
