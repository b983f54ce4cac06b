"""An engine's processes do not outlive a killed driver."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.metadata import entry_points

import pytest

from curriculum.engines.orphans import PLUGIN

DRIVER = """
import multiprocessing, sys, time
from curriculum.engines.orphans import die_with_parent, own_engines

def serve(queue):
    import os
    die_with_parent()
    queue.put(os.getpid())
    time.sleep(300)

if __name__ == "__main__":
    if sys.argv[1] == "owned":
        own_engines()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    context.Process(target=serve, args=(queue,), daemon=True).start()
    print(queue.get(), flush=True)
    time.sleep(300)
"""


def runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - gone or not, in one step
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("kind", "survives"), [("owned", False), ("other", True)])
def test_only_engines_of_ours_die_with_a_killed_driver(tmp_path, kind, survives) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    # The engine inherits the pipe, so it is read by the line and never to its end.
    with subprocess.Popen([sys.executable, str(script), kind], stdout=subprocess.PIPE, text=True) as driver:
        engine = int(driver.stdout.readline())
        driver.kill()
    deadline = time.monotonic() + (1 if survives else 20)
    while runs(engine) and time.monotonic() < deadline:
        time.sleep(0.05)
    try:
        assert runs(engine) == survives
    finally:
        if runs(engine):
            os.kill(engine, 9)


def test_vllm_finds_the_plugin() -> None:
    [plugin] = entry_points(group="vllm.general_plugins", name=PLUGIN)
    assert plugin.load().__name__ == "die_with_parent"
