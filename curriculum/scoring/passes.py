"""The folder of a pass: its settings in clear, and what differs from the pass before.

In: a plan. Out: `passes/<pass_id>/pass.json` and what trainers observed, notes about continuing or starting
anew.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from curriculum.errors import EngineError
from curriculum.files import disk_errors, write_json
from curriculum.plan import Plan
from curriculum.scoring.identity import differences
from curriculum.scoring.progress import View
from curriculum.scoring.visits import keep_visits

NAME = "pass.json"


def open_pass(plan: Plan, view: View, *, restart: bool) -> int:
    """Makes the pass ready to be scored and says what will be continued. Gives its attempt, from 1.

    Raises:
        UsageError: the folder cannot be written.
        EngineError: the settings of an earlier run cannot be read.
    """
    folder = plan.pass_folder
    known = _read(folder)
    attempt = known["attempt"] if known else 1
    if known and restart:
        view.note(f"starting pass {plan.identity.pass_id} again: what was scored of it is discarded")
        shutil.rmtree(plan.journal, ignore_errors=True)
        attempt += 1
    elif plan.judged.height:
        view.note(
            f"continuing pass {plan.identity.pass_id}: {plan.judged.height} rollouts are in its journal"
        )
    elif not known:
        _note_changes(plan, view)
    with disk_errors(folder, during_pass=False):
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / NAME, {"attempt": attempt, "settings": plan.identity.settings})
    if plan.config.evidence.use:
        keep_visits(folder, plan.visits)
        _note_observed(plan, view)
    return attempt


def _note_changes(plan: Plan, view: View) -> None:
    """Says in which settings this pass differs from the newest other one."""
    others = sorted(
        plan.pass_folder.parent.glob(f"*/{NAME}"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    if not others:
        return
    other = _read(others[0].parent)
    changed = differences(other["settings"], plan.identity.settings) if other else []
    lines = "".join(f"\n  {line}" for line in changed)
    view.note(f"a new pass: settings differ from the one before, {others[0].parent.name}{lines}")


def _note_observed(plan: Plan, view: View) -> None:
    """Says what the trainer's rollouts spare the pass, or that their age is unknown."""
    seen = plan.visits["prompt_id"].n_unique()
    step = plan.policy.checkpoint.step if plan.policy.checkpoint else None
    if plan.observed.height:
        view.note(f"{plan.observed.height:,} prompts are not sampled: the trainer has observed them")
    elif seen and step is None and not plan.config.evidence.assume_fresh:
        view.note(
            f"the trainer has observed {seen:,} prompts, which does not count: {plan.policy.name} has no "
            "training step in its name; evidence.assume_fresh = true counts those of the newest set"
        )


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        known: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise EngineError(
            "the settings of a pass cannot be read",
            where=f"{folder / NAME}: {error}",
            do="delete that folder to score the pass anew",
        ) from error
    return known
