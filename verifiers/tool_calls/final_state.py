"""Scores a response by the state its calls lead to in the environment of the reference.

In: the items of a response, a compiled reference with an environment. Out: `Score`.

Where the state is the wanted one, the calls need only be known and valid, and no more than were wanted.
Where it is another, and where the wanted calls themselves change nothing, calls are compared with calls.
"""

from __future__ import annotations

import json
from dataclasses import replace

from verifiers.sandbox import SandboxError
from verifiers.tool_calls.call import Item
from verifiers.tool_calls.compare import Comparison
from verifiers.tool_calls.environment import EnvironmentFault, Run, remembered, run
from verifiers.tool_calls.reference import Reference, UnusableReference
from verifiers.tool_calls.schema import Parameters
from verifiers.tool_calls.score import Made, Score, score

_same = Comparison(Parameters(None)).equal


def score_reached(items: tuple[Item, ...], wanted: Reference, *, allow_unsafe: bool) -> Score:
    """The score of `items`.

    Raises:
        UnusableReference: the environment does not run, or no jail can be had to run it in.
    """
    try:
        asked = _asked(wanted, allow_unsafe)
        if _same(asked.last, asked.first, None):
            return score(items, wanted)
        made = [Made(item, wanted) for item in items]
        calls = [one.executable for one in made if one.executable is not None]
        try:
            reached = _same(run(wanted.environment, calls, allow_unsafe).last, asked.last, None)
            detail = "another final state than wanted"
        except EnvironmentFault as fault:
            reached, detail = False, f"environment: {fault}"
    except (SandboxError, OSError) as error:
        raise UnusableReference(f"environment: sandbox: {error}") from None
    if not reached:
        compared = score(items, wanted)
        return replace(compared, outcome=0, detail=f"{detail}; {compared.detail}")
    known, most = sum(one.known for one in made), len(wanted.calls)
    return Score(
        min(known, most), min(len(calls), most), len(items), len(items), "the wanted state is reached"
    )


def _asked(wanted: Reference, allow_unsafe: bool) -> Run:
    """What the wanted calls lead to."""
    calls = json.dumps([(one.name, one.arguments) for one in wanted.calls])
    try:
        asked = remembered(wanted.environment, calls, allow_unsafe)
    except EnvironmentFault as fault:
        raise UnusableReference(f"environment: {fault}") from None
    if asked.raised:
        raise UnusableReference(f"environment: a wanted call raises {asked.raised}")
    return asked
