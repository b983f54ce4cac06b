"""Verifiers for the tests of the workers: each does what a user's verifier might do one day."""

from __future__ import annotations

import ctypes
import os
import pickle
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from verifiers.verdict import Part, Verdict, graded


class Contains:
    """Right if the response contains the answer. The reference may ask for a delay in seconds."""

    name = "contains"
    version = "1"

    def verify(self, response: str, reference: Mapping[str, Any]) -> Verdict:
        time.sleep(reference.get("delay", 0.0))
        if "log" in reference:
            with Path(reference["log"]).open("a") as log:
                log.write(f"{response}\n")
        right = float(reference["answer"] in response)
        return graded(right, parts=(Part("contains", right),), detail="looked for the answer")


class Shade(StrEnum):
    """Text that is of a class of its own."""

    PARTIAL = "partial"


class Suffixed(Contains):
    """Right if the response is the answer with a suffix, which is set-up that a name cannot carry."""

    name = "suffixed"

    def __init__(self, suffix: str) -> None:
        self.suffix = suffix

    def verify(self, response: str, reference: Mapping[str, Any]) -> Verdict:
        return graded(float(response == reference["answer"] + self.suffix))


class Misbehaves(Contains):
    """Does what the response says; else as `Contains`."""

    name = "misbehaves"

    def verify(self, response: str, reference: Mapping[str, Any]) -> Verdict:
        action, _, argument = response.partition(":")
        match action:
            case "hang":
                time.sleep(3600)
            case "hog":  # one operation that never releases the interpreter's lock
                pow(3, 10**9)
            case "exit":
                os._exit(int(argument))
            case "segfault":
                sys.stderr = None
                import faulthandler

                faulthandler.disable()
                ctypes.string_at(0)
            case "crash once":
                mark = Path(argument)
                if not mark.exists():
                    mark.touch()
                    os._exit(1)
                return graded(1.0)
            case "children":
                children = [
                    subprocess.Popen(["sleep", "3600"], start_new_session=session)
                    for session in (False, True)
                ]
                Path(argument).write_text(f"{os.getpid()} {children[0].pid} {children[1].pid}")
                time.sleep(3600)
            case "change pickle":
                pickle.dumps = lambda *_, **__: b"\x80\x04\x88."  # type: ignore[assignment]
            case "write to every pipe":
                _write_to_every_pipe(bytes.fromhex(argument))
            case "raise":
                raise ZeroDivisionError("by nothing")
            case "sys.exit":
                sys.exit("enough")
            case "nothing":
                return None  # type: ignore[return-value]
            case "print":
                print("x" * 1_000_000)
                os.write(1, b"y" * 1_000_000)
            case "huge":
                return graded(1.0, detail="line\n" * 2_000_000)
            case "numpy":
                import numpy as np

                score = np.float64(0.5)
                return Verdict(score, Shade.PARTIAL, parts=(Part(Shade.PARTIAL, score),), detail="\ud800")
            case "bad part":
                return graded(1.0, parts=("not a part",))  # type: ignore[arg-type]
        return super().verify(response, reference)


def _write_to_every_pipe(content: bytes) -> None:
    for number in range(3, 64):
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                os.write(number, content)
        except OSError:
            continue


class ExitsOnImport:
    """Cannot be made: the process ends."""

    name = "exits"
    version = "1"

    def __init__(self) -> None:
        os._exit(9)


class RaisesOnImport:
    """Cannot be made: its set-up fails."""

    name = "raises"
    version = "1"

    def __init__(self) -> None:
        raise OSError("the word list is missing")
