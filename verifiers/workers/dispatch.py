"""Shares tasks out among the worker processes and takes in their answers.

In: tasks, from the one thread that owns a `Dispatcher`. Out: one `Judged` per task.

A worker that ends, or stays on one item for longer than the deadline, is replaced; the item it was on is
tried once more and then answered `verifier_error` with the cause; its other items go back to the queue.
"""

from __future__ import annotations

import pickle
import select
import time
from collections import deque
from collections.abc import Iterable
from itertools import islice

from verifiers.shaping import RewardShape, shape
from verifiers.verdict import Part, Verdict, verifier_error
from verifiers.workers.channel import Given, Message, Result
from verifiers.workers.items import Judged, WorkersError
from verifiers.workers.worker import Task, Worker

TICK_S = 0.05
"""How long an answer may wait in its pipe for the rest of its batch."""
AHEAD_MS = 25.0
"""A worker that holds less than this, by the time its verifiers have been taking, is handed a batch."""
FIRST_COST_MS = 5.0
"""What an item is expected to take before its verifier has been timed."""
STUCK_S = 0.5
"""Time on one item after which the items behind it are offered to the other workers."""
LOAD_S = 120.0
"""Time allowed for starting Python, and for importing a verifier."""
MAX_LOSSES = 2
"""Workers an item may cost before it is answered `verifier_error`."""
MAX_FAILED_STARTS = 3
"""Workers in a row that may end before they are ready."""
GRACE_S = 2.0
"""Time for idle workers to leave by themselves at the end."""


class Dispatcher:
    """The workers, the queue before them, and what is known of each verifier's pace.

    Args:
        size: number of worker processes.
        rewards: how verdicts become rewards.
        deadline_s: wall-clock seconds that one item may take.
        batch_items: items handed to a worker at once, at most.
        nice: added to the workers' niceness.
        given: pickled verifiers, in place of those that the registry finds under their names.
        bell: an eventfd that a worker rings when it is ready and after each batch.
    """

    def __init__(
        self,
        *,
        size: int,
        rewards: RewardShape,
        deadline_s: float,
        batch_items: int,
        nice: int,
        given: Given,
        bell: int,
    ) -> None:
        self._size = size
        self._rewards = rewards
        self._deadline_s = deadline_s
        self._batch_items = batch_items
        self._nice = nice
        self._given = given
        self._bell = bell
        self._queue: deque[Task] = deque()
        self._workers: list[Worker] = []
        self._failed_starts = 0
        self._cost_ms: dict[str, float] = {}

    @property
    def ready(self) -> bool:
        """At least one worker has started."""
        return any(worker.ready for worker in self._workers)

    @property
    def queued(self) -> int:
        """Tasks that no worker holds."""
        return len(self._queue)

    def look(self, tasks: Iterable[Task]) -> list[Judged]:
        """Queues `tasks`, takes in answers, replaces lost workers and hands out work. Never waits.

        Raises:
            WorkersError: workers cannot be started.
        """
        self._queue.extend(tasks)
        judged: list[Judged] = []
        for worker in self._workers:
            self._collect(worker, judged)
            if not worker.gone:
                self._watch(worker, judged)
        self._workers = [worker for worker in self._workers if not worker.gone]
        while len(self._workers) < self._size:
            self._workers.append(self._start())
        self._hand_out()
        return judged

    def wait(self) -> None:
        """Sleeps until the bell rings or a full pipe has room; for one tick at most while work is out."""
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        for worker in self._workers:
            if worker.has_unsent:
                poll.register(worker.input, select.POLLOUT)
        busy = any(worker.tasks or not worker.ready for worker in self._workers)
        poll.poll(TICK_S * 1e3 if busy else None)

    def end(self) -> None:
        """Ends the workers and all their children, within GRACE_S; what they hold is not judged."""
        leave_by = time.monotonic() + GRACE_S
        workers = [worker for worker in self._workers if not worker.gone]
        for worker in workers:
            worker.input.close()
        for worker in workers:
            if worker.ready and not worker.tasks:
                worker.wait(leave_by - time.monotonic())
            worker.kill()

    # ---- taking in

    def _collect(self, worker: Worker, judged: list[Judged]) -> None:
        """Takes in what `worker` has said; gives it up when that is nothing a worker says."""
        worker.flush()
        try:
            for message in worker.receive():
                self._take_in(worker, message, judged)
        except pickle.UnpicklingError as error:  # what it verified has got at its pipes
            worker.kill()
            self._lose(worker, f"its worker process was hijacked ({error})", judged)

    def _take_in(self, worker: Worker, message: Message, judged: list[Judged]) -> None:
        worker.since = time.monotonic()
        worker.loading = ""
        if message[0] == "result":
            if not worker.tasks:
                raise pickle.UnpicklingError("a worker answered what it was not asked")
            self._answer(worker.answered(), message, judged)
        elif message[0] == "loading":
            worker.loading = message[1]
        else:
            worker.ready = True
            self._failed_starts = 0

    def _answer(self, task: Task, result: Result, judged: list[Judged]) -> None:
        _, correctness, outcome, parts, detail, repetition, verify_ms = result
        cost = self._cost_ms.get(task.item.verifier, verify_ms)
        self._cost_ms[task.item.verifier] = cost + 0.05 * (verify_ms - cost)
        if not task.done:  # else another worker, handed the same task, was faster
            task.done = True
            verdict = Verdict(correctness, outcome, tuple(Part(*part) for part in parts), detail)
            judged.append(
                Judged(task.item.key, verdict, shape(verdict, self._rewards), repetition, verify_ms)
            )

    # ---- losses

    def _watch(self, worker: Worker, judged: list[Judged]) -> None:
        """Gives up a worker that has ended or is over time; spreads the work of one that is stuck."""
        idle_s = time.monotonic() - worker.since
        preparing = worker.loading or not worker.ready
        allowed_s = LOAD_S if preparing else self._deadline_s
        if worker.ended:
            self._lose(worker, f"its worker process ended with {worker.kill()}", judged)
        elif idle_s > allowed_s and (worker.tasks or not worker.ready):
            worker.kill()
            self._lose(worker, f"{worker.doing} exceeded {allowed_s:g} s", judged)
        elif idle_s > STUCK_S and len(worker.tasks) > 1 and self._size > 1:
            self._requeue(worker, islice(worker.tasks, 1, None))

    def _lose(self, worker: Worker, cause: str, judged: list[Judged]) -> None:
        """Gives up `worker`, which is gone. The task it was on bears the blame; all go back."""
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= MAX_FAILED_STARTS:
                raise WorkersError(
                    f"{MAX_FAILED_STARTS} verifier workers in a row were lost before they were ready "
                    f"({cause}); what they printed is on standard error"
                )
        if not worker.tasks:
            return
        suspect, *others = worker.tasks
        self._requeue(worker, others)
        if suspect.done:
            return
        suspect.losses += 1
        if suspect.losses >= MAX_LOSSES:
            suspect.done = True
            verdict = verifier_error(f"{cause}, {MAX_LOSSES} times")
            judged.append(Judged(suspect.item.key, verdict, shape(verdict, self._rewards), 0.0, 0.0))
        elif suspect.holder is worker:
            suspect.holder = None
            self._queue.append(suspect)  # after the others, which it has held up once

    def _requeue(self, worker: Worker, tasks: Iterable[Task]) -> None:
        """Puts those of `tasks` that wait for `worker` alone back at the head of the queue."""
        back = [task for task in tasks if task.holder is worker and not task.done]
        for task in back:
            task.holder = None
        self._queue.extendleft(reversed(back))

    # ---- handing out

    def _start(self) -> Worker:
        try:
            return Worker.start(bell=self._bell, nice=self._nice, given=self._given)
        except OSError as error:
            raise WorkersError(f"a verifier worker cannot be started: {error}") from error

    def _hand_out(self) -> None:
        """Fills up the workers from the queue, the least loaded first."""
        if not self._queue:
            return
        hungry = sorted(filter(self._is_hungry, self._workers), key=lambda worker: worker.load_ms)
        for place, worker in enumerate(hungry):
            share = -(-len(self._queue) // (len(hungry) - place))
            batch = self._take(min(share, self._batch_items))
            if batch:
                worker.hand(batch)

    def _is_hungry(self, worker: Worker) -> bool:
        stuck = worker.tasks and time.monotonic() - worker.since > STUCK_S
        full = len(worker.tasks) > self._batch_items or worker.load_ms >= AHEAD_MS
        return worker.ready and not stuck and not full

    def _take(self, limit: int) -> list[Task]:
        """Up to `limit` tasks off the queue, fewer when they are slow, at least one if there is any."""
        batch: list[Task] = []
        load_ms = 0.0
        while self._queue and len(batch) < limit and load_ms < AHEAD_MS:
            task = self._queue.popleft()
            if not task.done:
                task.expected_ms = self._cost_ms.get(task.item.verifier, FIRST_COST_MS)
                load_ms += task.expected_ms
                batch.append(task)
        return batch
