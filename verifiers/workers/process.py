"""The program of one worker process: reads batches, judges them in order, answers item by item.

In: on standard input, given verifiers, then batches of requests until it ends. Out: on standard output,
one message per item.

Each answer is written when it is known, before the next item begins. So the first item without an
answer is the one the worker is on: whoever finds the worker dead or stuck knows which item to blame,
and no finished work is lost with it. The caller is woken (through the bell, an eventfd) only at the end
of a batch; in between it looks by itself.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import pickle
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from verifiers.registry import UnknownVerifierError, get
from verifiers.repetition import repetition
from verifiers.verdict import OUTCOMES, Part, Verdict, Verifier, verifier_error
from verifiers.workers.channel import Given, Message, pack, read_message

MAX_DETAIL_CHARS = 1_000
MAX_CACHED_REFERENCE_CHARS = 32_768


def main(bell: int, nice: int) -> None:
    """Judges until standard input ends."""
    os.set_inheritable(bell, False)
    requests, results = _claim_standard_streams()
    os.nice(nice)
    with contextlib.suppress(OSError):  # a container may hide this file
        # The kernel, when short of memory, ends a worker, whose item is retried, and not the engine.
        Path("/proc/self/oom_score_adj").write_text("1000")
    faulthandler.enable()

    known: dict[str, Verifier | str] = {}

    def send(message: Message) -> None:
        rest = memoryview(pack(message))
        while rest:
            rest = rest[os.write(results, rest) :]

    # A caller that goes away takes its ends of the pipes with it: nobody is left to tell.
    with open(requests, "rb") as stream, contextlib.suppress(BrokenPipeError):  # noqa: PTH123 - a descriptor
        send(("ready",))
        os.eventfd_write(bell, 1)
        given: Given = read_message(stream) or {}
        while (batch := read_message(stream)) is not None:
            for name, response, reference in batch:
                if name not in known:
                    send(("loading", name))
                    known[name] = _load(name, given)
                    send(("ready",))
                send(_judge(known[name], response, reference))
            os.eventfd_write(bell, 1)


def _claim_standard_streams() -> tuple[int, int]:
    """Moves the channel away from descriptors 0 and 1, where verifiers and their children would find it."""
    requests, results = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)  # what a verifier prints is seen on standard error
    return requests, results


def _load(name: str, given: Given) -> Verifier | str:
    """The verifier, or one line on why there is none."""
    try:
        if name in given:
            verifier: Verifier = pickle.loads(given[name])  # noqa: S301 - from the process that started us
            return verifier
        return get(name)
    except UnknownVerifierError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - unpickling runs other people's code, which may raise anything
        return f"verifier {name!r}: what was given cannot be unpickled: {type(error).__name__}: {error}"


def _judge(verifier: Verifier | str, response: str, reference: str) -> Message:
    began = time.perf_counter()
    if isinstance(verifier, str):
        verdict = verifier_error(verifier)
    else:
        verdict = _verify(verifier, response, reference)
    verify_ms = (time.perf_counter() - began) * 1e3
    parts = tuple((part.name, part.value) for part in verdict.parts)
    detail = _one_line(verdict.detail)
    return ("result", verdict.correctness, verdict.outcome, parts, detail, repetition(response), verify_ms)


def _one_line(text: str) -> str:
    """`text` as one line of bounded length that any file can hold."""
    return " ".join(text[:MAX_DETAIL_CHARS].split()).encode(errors="replace").decode()


def _verify(verifier: Verifier, response: str, reference_text: str) -> Verdict:
    """The verdict in plain built-in types, whatever the verifier does."""
    try:
        reference = _reference(reference_text)
    except (ValueError, RecursionError) as error:
        return verifier_error(f"the reference cannot be read: {error}")
    # Verifiers are other people's code too: whatever one raises, sys.exit() included, is data here and
    # must not end the worker.
    try:
        verdict = verifier.verify(response, reference)
        if not isinstance(verdict, Verdict):
            return verifier_error(f"{verifier.name} returned {type(verdict).__name__}, not a Verdict")
        parts = tuple(Part(_one_line(part.name), float(part.value)) for part in verdict.parts)
        outcome = OUTCOMES[OUTCOMES.index(verdict.outcome)]
        return Verdict(float(verdict.correctness), outcome, parts, str(verdict.detail))
    except BaseException as error:  # noqa: BLE001
        return verifier_error(f"{verifier.name} raised {type(error).__name__}: {error}")


def _reference(text: str) -> Mapping[str, Any]:
    """The object in `text`; the rollouts of one group share it, so it is worth remembering."""
    return _remembered(text) if len(text) <= MAX_CACHED_REFERENCE_CHARS else _parse(text)


def _parse(text: str) -> Mapping[str, Any]:
    reference = json.loads(text)
    if not isinstance(reference, dict):
        raise ValueError(f"it is a JSON {type(reference).__name__}, not an object")  # noqa: TRY004
    return reference


_remembered = lru_cache(maxsize=512)(_parse)
