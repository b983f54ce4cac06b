"""The curriculum inside a trainer's data loader: what to train next, and what the rollouts said.

In: a published set. Out: prompts by weight, evidence for the next refresh, a resume that skips and repeats
nothing. Runs in other people's processes: numpy and pyarrow only, nothing of `verifiers` or `pipelines`.

    manifest.py   which files belong to a set        published.py  their columns
    ids.py        prompt ids as integers             sorting.py    the order of millions of them
    order.py      the batches of an epoch            prompts.py    rows of the shards by number
    epoch.py      what was issued and trained        state.py      the same as a saved state
    groups.py     rollouts put together to groups    evidence.py   what they say, kept for the next refresh
    signal.py     how much signal is left            sampler.py    all of it, for a trainer
    loader.py     the sampler for stateful loaders   rows.py       a data set's rows by prompt id
    unrolled.py   all epochs as one sequence         settings.py   options of a trainer's configuration

The other files are named after their trainers (docs/trainers/) and loaded only where these are.
"""

from curriculum.hooks.evidence import Evidence
from curriculum.hooks.loader import LoaderSampler
from curriculum.hooks.order import Recipe
from curriculum.hooks.published import PublishedSet, open_published
from curriculum.hooks.sampler import CurriculumSampler
from curriculum.hooks.signal import Figures, Signal, Stale, StalePolicy
from curriculum.hooks.state import Carried

__all__ = [
    "Carried",
    "CurriculumSampler",
    "Evidence",
    "Figures",
    "LoaderSampler",
    "PublishedSet",
    "Recipe",
    "Signal",
    "Stale",
    "StalePolicy",
    "open_published",
]
