"""Jailed programs against fresh `python -I` processes with the same limits, one after the other.

    python benchmarks/sandbox.py [--programs 200] [--rounds 3]

Prints programs per second of each, their ratio, and how long a jailed program takes to start, to answer and
to end. Both run the same small program on the same input and have its output compared.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time

from verifiers import sandbox
from verifiers.sandbox import Limits, Runner, frames
from verifiers.sandbox.values import encode
from verifiers.unit_tests import UnitTestsVerifier

SCRIPT = "print(int(input()) * 2)"
FUNCTION = encode(("", "def f(x):\n    return x * 2", "f"))
REFERENCES = {
    "script": ({"tests": [{"kind": "io", "stdin": "21\n", "stdout": "42\n"}], "rerun": 0}, SCRIPT),
    "call": (
        {"entry_point": "f", "tests": [{"kind": "call", "args": [21], "expected": 42}], "rerun": 0},
        "def f(x):\n    return x * 2",
    ),
}


def fresh(count: int) -> float:
    """Programs per second, each an interpreter of its own."""
    began = time.perf_counter()
    for _ in range(count):
        done = subprocess.run(
            [sys.executable, "-I", "-c", SCRIPT],
            input="21\n",
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=_limit,
        )
        assert done.stdout == "42\n"
    return count / (time.perf_counter() - began)


def _limit() -> None:
    usual = Limits()
    for kind, amount in (
        (resource.RLIMIT_AS, usual.memory_bytes),
        (resource.RLIMIT_CPU, usual.cpu_seconds),
        (resource.RLIMIT_FSIZE, usual.file_bytes),
        (resource.RLIMIT_NOFILE, usual.open_files),
    ):
        resource.setrlimit(kind, (amount, amount))


def jailed(count: int, kind: str) -> float:
    """Verdicts per second, each a program in a jail of its own."""
    reference, code = REFERENCES[kind]
    verifier, response = UnitTestsVerifier(), f"```python\n{code}\n```"
    began = time.perf_counter()
    for _ in range(count):
        assert verifier.verify(response, reference).outcome == "correct"
    return count / (time.perf_counter() - began)


def phases(runner: Runner, count: int) -> dict[str, list[float]]:
    """Milliseconds that each program took to start, to load and answer a call, and to end."""
    taken: dict[str, list[float]] = {"start": [], "load, call": [], "end": []}
    for _ in range(count):
        times = [time.perf_counter()]
        program = runner.start(Limits())
        times.append(time.perf_counter())
        deadline = time.monotonic() + 10
        for kind, body in ((frames.SOLUTION, FUNCTION), (frames.CALL, encode(("f", [21], {})))):
            program.channel.send(kind, body, deadline=deadline)
            program.channel.receive(deadline=deadline)
        times.append(time.perf_counter())
        program.end()
        times.append(time.perf_counter())
        for name, before, after in zip(taken, times, times[1:], strict=False):
            taken[name].append((after - before) * 1e3)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--programs", type=int, default=200, help="of each kind and round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"sandbox level: {sandbox.level().name}")
    jailed(10, "call")  # the start of the zygote is not counted
    for number in range(options.rounds):
        plain = fresh(options.programs)
        print(f"round {number}: fresh python -I {plain:.0f}/s", end="")
        for kind in REFERENCES:
            rate = jailed(options.programs, kind)
            print(f"; jailed {kind} {rate:.0f}/s, {rate / plain:.1f} times", end="")
        print(flush=True)
    for name, taken in phases(sandbox.runner(), options.programs).items():
        low, *_, high = statistics.quantiles(taken, n=20)
        median = statistics.median(taken)
        print(f"{name}: median {median:.1f} ms, 5% below {low:.1f}, 5% above {high:.1f}")


if __name__ == "__main__":
    main()
