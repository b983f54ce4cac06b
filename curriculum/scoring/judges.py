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
    return unsafe_instances() if config.verification.allow_unsafe_execution else {}


def unsafe_instances() -> dict[str, Verifier]:
    """The verifiers that run code, made to run it where no jail can be had."""
    from verifiers.tool_calls import ToolCallsVerifier
    from verifiers.unit_tests import UnitTestsVerifier

    return {
        "tool_calls": ToolCallsVerifier(allow_unsafe=True),
        "unit_tests": UnitTestsVerifier(allow_unsafe=True),
    }
