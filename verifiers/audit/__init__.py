"""Adversarial responses to throw at a verifier, and honest ones that it must not refuse.

In: a kind of verifier. Out: its `battery`, a list of `Case`, read from `cases/<kind>/<family>.toml`.
"""

from verifiers.audit.battery import KINDS, Case, Expected, Kind, battery

__all__ = ["KINDS", "Case", "Expected", "Kind", "battery"]
