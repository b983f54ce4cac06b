"""A verifier on its way to a worker process.

In: a verifier and its name. Out: a stand-in for the workers; unpickled there, it is the verifier.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from verifiers.adapters import find
from verifiers.verdict import Verifier


class Posted:
    """Travels as a name, by which the worker finds the verifier anew: it need not be picklable.

    Args:
        verifier: what the name stands for.
        target: its name, see `verifiers.adapters.find`.
        data_source: what a verl function is told.
        folder: where the worker is to work; empty: where it is.
    """

    def __init__(self, verifier: Verifier, target: str, data_source: str, folder: str) -> None:
        self.name = verifier.name
        self.version = verifier.version
        self.verify = verifier.verify
        self._arrival = (target, data_source, folder)

    def __reduce__(self) -> tuple[Callable[..., Verifier], tuple[str, str, str]]:
        return _arrive, self._arrival


def _arrive(target: str, data_source: str, folder: str) -> Verifier:
    """Finds the verifier in a worker, which prints nothing from here on: audited programs print anything."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    verifier = find(target, data_source=data_source)
    if folder:
        os.chdir(folder)
    return verifier
