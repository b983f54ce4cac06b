"""What an audit gives back.

In: nothing. Out: `Finding`, `FamilyCount` and `AuditReport`, which turns into plain JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from verifiers.audit import Kind

Fault = Literal["accepted", "refused", "raised", "hung", "unstable"]
FAULTS: tuple[Fault, ...] = get_args(Fault)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with the verifier."""

    case: str
    """Id of the case, family/name."""
    fault: Fault
    expected: str
    why: str
    """Why the case is to be answered as expected."""
    reference: str
    """What is wanted: the answer, the calls or the tests."""
    response: str
    """What the verifier was given; the middle of a long one is left out."""
    answered: str
    """What the verifier said, in one line."""


@dataclass(frozen=True, slots=True)
class FamilyCount:
    """One family of cases."""

    family: str
    cases: int
    faults: Mapping[Fault, int]
    """Faults that did not occur are absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The findings, and their numbers."""

    verifier: str
    kind: Kind
    form: str
    """`verifier`, or the form of the reward function: plain, trl, verl"""
    families: tuple[FamilyCount, ...]
    """By name."""
    findings: tuple[Finding, ...]
    """By fault, the gravest first, then by case."""
    left_out: int
    """Hostile cases that were not run."""
    seconds: float

    @property
    def cases(self) -> int:
        """Cases that were judged."""
        return sum(family.cases for family in self.families)

    def count(self, fault: Fault) -> int:
        """Cases with that fault."""
        return sum(family.faults.get(fault, 0) for family in self.families)

    def to_json(self) -> dict[str, Any]:
        """The same for machines."""
        faults = {fault: self.count(fault) for fault in FAULTS}
        return {**asdict(self), "seconds": round(self.seconds, 3), "cases": self.cases, "faults": faults}
