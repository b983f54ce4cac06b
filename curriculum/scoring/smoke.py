"""The smoke run's own part: which prompts go first, and what a person is shown of them.

In: the plan and the first judged rollouts. Out: prompt ids, and a report with one prompt exactly as
sent. A wrong template, stop condition or answer format shows here, before a pass is paid for.
"""

from __future__ import annotations

from collections import Counter
from textwrap import indent

import polars as pl

from curriculum.engines.base import Completion
from curriculum.plan import Plan
from verifiers.verdict import Verdict

PROMPTS = 8
SHOWN_CHARACTERS = 2_000
EMPTY_HANDED = {"no_answer", "malformed", "truncated", "verifier_error"}


def smoke_prompts(plan: Plan) -> set[str]:
    """The first prompts of the pass, taking domains in turn."""
    asked = list(dict.fromkeys(ask.prompt_id for ask in plan.asks))
    order = pl.DataFrame({"prompt_id": asked}).with_row_index("place")
    domains = plan.table.unique("prompt_id", keep="first", maintain_order=True).select("prompt_id", "domain")
    turns = order.join(domains, on="prompt_id", how="left").with_columns(
        turn=pl.col("place").rank("ordinal").over("domain")
    )
    return set(turns.sort("turn", "place")["prompt_id"].head(PROMPTS))


def smoke_report(plan: Plan, first: tuple[Completion, Verdict] | None, outcomes: Counter[str]) -> str:
    """What was sent, what came back, how it was judged."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    lines = [f"{outcomes.total()} rollouts: {counts}"]
    if first is not None and plan.policy.renderer is not None:
        completion, verdict = first
        [messages] = plan.pool.frame.filter(pl.col("prompt_id") == completion.prompt_id)["prompt"].head(1)
        detail = f": {verdict.detail}" if verdict.detail else ""
        lines = [
            "one prompt exactly as sent:",
            _excerpt(plan.policy.renderer.text(messages.to_list())),
            f"one response ({completion.tokens} tokens, {verdict.outcome}{detail}):",
            _excerpt(completion.text),
            *lines,
        ]
    if outcomes and set(outcomes) <= EMPTY_HANDED:
        lines.append(
            "warning: not one rollout gave an answer; check the chat template, the stop conditions, "
            "max_tokens and the answer format that the prompts ask for"
        )
    return "\n".join(lines)


def _excerpt(text: str) -> str:
    cut = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + " …"
    return indent(cut, "    ", lambda _: True)
