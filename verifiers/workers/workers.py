"""Judges responses in worker processes while the caller goes on.

In: `Item`s, from any thread. Out: exactly one `Judged` per item, in any order, through `on_judged`.

One background thread serves all the workers. It sleeps on a bell (an eventfd), rung when items come in
or a worker finishes a batch, and looks around by itself while work is out, so that a slow item does not
hold back the answers before it. The rules of sharing out and of loss are in `dispatch`.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from verifiers.shaping import RewardShape
from verifiers.verdict import Verifier
from verifiers.workers.dispatch import Dispatcher
from verifiers.workers.items import Item, Judged, WorkersError
from verifiers.workers.worker import Task

CALM_PACE_S = 0.04
"""Pause between two looks: what comes close together is handled together, which spares the caller's CPU."""
QUICK_PACE_S = 0.004
"""The same while items queue, so that workers do not run dry."""


class VerifierWorkers:
    """A context manager: the workers start with it and are gone, with all their children, after it.

    `on_judged` is called from a background thread, one call at a time, and may call `submit`. What it
    raises ends the workers. An exception in the `with` block abandons what is not yet judged.

    Args:
        workers: number of processes.
        rewards: how verdicts become rewards.
        on_judged: receives the judged items.
        on_failure: called once, from the background thread, if the workers cannot go on; without it the
            caller learns from the next `submit`, `pending`, `wait_for_room` or `close`.
        deadline_s: wall-clock seconds that one item may take.
        max_pending: from this many on `wait_for_room` blocks. `submit` takes items all the same.
        batch_items: items handed to a worker at once, at most.
        nice: added to the workers' niceness, so that an engine beside them keeps its core.
        verifiers: instances to use in place of what the registry finds under these names.

    Raises:
        WorkersError: the workers cannot be started.
    """

    def __init__(
        self,
        *,
        workers: int,
        rewards: RewardShape,
        on_judged: Callable[[Sequence[Judged]], None],
        on_failure: Callable[[WorkersError], None] | None = None,
        deadline_s: float = 30.0,
        max_pending: int = 65_536,
        batch_items: int = 64,
        nice: int = 5,
        verifiers: Mapping[str, Verifier] | None = None,
    ) -> None:
        if min(workers, batch_items, max_pending) < 1 or not deadline_s > 0:
            raise ValueError("workers, batch_items, max_pending and deadline_s must be positive")
        self._on_judged = on_judged
        self._on_failure = on_failure
        self._max_pending = max_pending
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._dispatcher = Dispatcher(
            size=workers,
            rewards=rewards,
            deadline_s=deadline_s,
            batch_items=batch_items,
            nice=nice,
            given={name: pickle.dumps(verifier) for name, verifier in (verifiers or {}).items()},
            bell=self._bell,
        )
        self._changed = threading.Condition()  # guards everything below
        self._submitted: list[Task] = []
        self._pending = 0
        self._ready = False
        self._closed = False
        self._stopping = False
        self._ended = False
        self._failure: WorkersError | None = None
        # The workers die with the thread that starts them (see Worker.start), so it is one of our own.
        self._thread = threading.Thread(target=self._run, name="verifier-workers", daemon=True)
        self._thread.start()
        self._wait_until_ready()

    def submit(self, items: Sequence[Item]) -> None:
        """Queues `items` for judgement and returns at once.

        Raises:
            WorkersError: the workers are closed, or cannot go on.
        """
        tasks = [Task(item) for item in items]
        with self._changed:
            self._check()
            if self._closed:
                raise WorkersError("items were submitted to verifier workers that are closed")
            self._submitted += tasks
            self._pending += len(tasks)
            self._ring()

    @property
    def pending(self) -> int:
        """Items submitted and not yet handed to `on_judged`.

        Raises:
            WorkersError: the workers cannot go on, so the number will not change.
        """
        with self._changed:
            self._check()
            return self._pending

    def wait_for_room(self, timeout_s: float | None = None) -> bool:
        """Blocks until fewer than `max_pending` items are pending; False when `timeout_s` ran out first.

        For callers without an event loop. Raises as `pending` does.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._pending < self._max_pending or self._failure, timeout_s)
            self._check()
            return self._pending < self._max_pending

    def close(self, *, drain: bool = True) -> None:
        """Ends the workers: after all that is pending has been judged, or at once.

        Draining is bounded by the deadline of each item, ending by a few seconds; what hangs is killed.
        Interrupted (KeyboardInterrupt), it still ends the workers. A second call does nothing.

        Raises:
            WorkersError: with `drain`, that the workers could not go on and items were not judged.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("on_judged cannot close the workers that call it")
        try:
            with self._changed:
                self._closed = True
                if drain:
                    self._changed.wait_for(lambda: not self._pending or self._ended or self._failure)
        finally:
            with self._changed:
                self._stopping = True
                self._ring()
            self._thread.join()
        if drain:
            self._check()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=error is None)

    def _check(self) -> None:
        if self._failure:
            raise self._failure

    def _ring(self) -> None:
        if not self._ended:
            os.eventfd_write(self._bell, 1)

    def _wait_until_ready(self) -> None:
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._failure)
                self._check()
        except BaseException:  # an interrupt too: nobody else could close what was never returned
            self.close(drain=False)
            raise

    # ---- the background thread

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._look()
                self._dispatcher.wait()
                time.sleep(QUICK_PACE_S if self._dispatcher.queued or self._stopping else CALM_PACE_S)
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._bell)
        except WorkersError as error:
            self._fail(error)
        except BaseException as error:  # noqa: BLE001 - a thread has no caller; it reaches ours by `_check`
            failure = WorkersError(f"judging stopped: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._fail(failure)
        finally:
            self._dispatcher.end()
            with self._changed:
                self._ended = True
                self._changed.notify_all()
            os.close(self._bell)

    def _look(self) -> None:
        with self._changed:
            tasks, self._submitted = self._submitted, []
        judged = self._dispatcher.look(tasks)
        if judged:
            self._on_judged(judged)
        with self._changed:
            self._pending -= len(judged)
            self._ready = self._ready or self._dispatcher.ready
            self._changed.notify_all()

    def _fail(self, failure: WorkersError) -> None:
        with self._changed:
            self._failure = failure
            self._changed.notify_all()
        if self._on_failure:
            self._on_failure(failure)
