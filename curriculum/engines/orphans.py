"""Lets the processes of an engine die with the process that started it.

In: nothing; vLLM calls `die_with_parent` in each of its processes (entry point `vllm.general_plugins`).
Out: processes that the kernel kills when their parent ends, however it ends. Without this a SIGKILL of
the driver leaves the engine running, and holding the GPU that the next run needs.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal

OWNED = "CURRICULUM_ENGINE"
"""Set in the environment of engines of ours; other vLLM processes of the environment are left alone."""

PLUGIN = "curriculum_die_with_parent"
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def own_engines() -> None:
    """Marks engines that this process starts from now on as its own."""
    os.environ[OWNED] = str(os.getpid())
    chosen = os.environ.get("VLLM_PLUGINS")
    if chosen is not None and PLUGIN not in chosen.split(","):
        os.environ["VLLM_PLUGINS"] = f"{chosen},{PLUGIN}"


def die_with_parent() -> None:
    """Asks the kernel to kill this process when its parent dies, if it belongs to an engine of ours."""
    parent = multiprocessing.parent_process()
    if OWNED not in os.environ or parent is None:
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent.pid:  # it died before it was asked
        os.kill(os.getpid(), signal.SIGKILL)
