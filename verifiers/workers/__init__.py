"""Judges responses in worker processes, beside an engine that must not wait for them."""

from verifiers.workers.items import Item, Judged, WorkersError
from verifiers.workers.workers import VerifierWorkers

__all__ = ["Item", "Judged", "VerifierWorkers", "WorkersError"]
