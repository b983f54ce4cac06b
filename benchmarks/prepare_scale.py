"""Time and memory of `curriculum prepare` on files larger than one likes to hold in memory.

In: a kind of file and its size. Out: one JSON line: rows, bytes, seconds, the largest resident memory of the
command and of its workers, and what became of the rows.

    .venv/bin/python benchmarks/prepare_scale.py jsonl --gigabytes 2
    .venv/bin/python benchmarks/prepare_scale.py csv --rows 1000000

The rows are made problems of about a hundred words with a worked solution beside them (JSONL), or short ones
without (CSV); every hundredth says again what an earlier one says.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_STARTS, _ENDS = (
    ("ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "du"),
    ("lan", "mer", "nok", "pit", "ros"),
)
WORDS = [f"{start}{end}" for start in _STARTS for end in _ENDS]
CURRICULUM = [sys.executable, "-c", "from curriculum.cli import main; main()"]


def problems(words: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Prompts and their answers, without end."""
    earlier = ("How much is nothing?", "0")
    for number in range(sys.maxsize):
        text = f"Problem: {' '.join(draw.choices(WORDS, k=words))} {number} and {draw.randrange(10**6)}?"
        yield (text, str(number % 1000)) if number % 100 else earlier
        if number % 100 == 50:
            earlier = (text, str(number % 1000))


def write_jsonl(path: Path, size: int) -> int:
    """Writes rows of about 4 kB until the file has `size` bytes; gives their number."""
    draw, rows = random.Random(0), 0
    worked = [" ".join(draw.choices(WORDS, k=600)) for _ in range(50)]
    with path.open("w", encoding="utf-8") as file:
        for prompt, answer in problems(100, draw):
            row = {"prompt": prompt, "answer": answer, "worked": draw.choice(worked), "level": rows % 5}
            file.write(json.dumps(row) + "\n")
            rows += 1
            if file.tell() >= size:
                return rows
    return rows


def write_csv(path: Path, rows: int) -> int:
    """Writes `rows` short problems."""
    draw = random.Random(0)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "answer"])
        writer.writerows(row for row, _ in zip(problems(25, draw), range(rows), strict=False))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=["jsonl", "csv"])
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--folder", type=Path, help="where the file is made, and kept; default a temporary one"
    )
    parser.add_argument("prepare", nargs="*", help="more options of curriculum prepare, after --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        path = folder / f"raw.{options.kind}"
        if not path.exists():
            size = int(options.gigabytes * 1e9)
            _ = write_jsonl(path, size) if options.kind == "jsonl" else write_csv(path, options.rows)
        command = [
            "prepare",
            str(path),
            "--verifier",
            "boxed",
            "--json",
            "--out",
            str(folder / "out"),
            "--restart",
        ]
        began = time.monotonic()
        done = subprocess.run([*CURRICULUM, *command, *options.prepare], stdout=subprocess.PIPE, check=True)
        told = json.loads(done.stdout)
        report = {
            "kind": options.kind,
            "bytes": path.stat().st_size,
            "rows": told["pool_rows"],
            "seconds": round(time.monotonic() - began, 1),
            "largest_process_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
            "decisions": {row["decision"]: row["prompts"] for row in told["decisions"]},
        }
        print(json.dumps(report))


if __name__ == "__main__":
    main()
