"""The processes that judge, as `[verification]` sets them.

In: the configuration. Out: how many workers to start, and the verifiers that are not as the registry makes
them.
"""

from __future__ import annotations

import os

from curriculum.config import Config
from verifiers.verdict import Verifier

MOST_WORKERS = 16


def worker_count(config: Config) -> int:
    """Worker processes: as configured, else half the cores, at least one, at most sixteen."""
    return config.verification.workers or min(max((os.cpu_count() or 1) // 2, 1), MOST_WORKERS)


def verifier_instances(config: Config) -> dict[str, Verifier]:
    """Verifiers that are not as the registry makes them."""
    if not config.verification.allow_unsafe_execution:
        return {}
    from verifiers.unit_tests import UnitTestsVerifier

    return {"unit_tests": UnitTestsVerifier(allow_unsafe=True)}
