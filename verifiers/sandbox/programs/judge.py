"""Runs assertion tests in a jailed process of their own, the solution being a voice on the channel.

In: the reference's setup code, then tests (HumanEval's `check(candidate)`, or bare asserts). Out: PASSED,
FAILED or BROKEN for each.

Tests are trusted to be right but not to be harmless: they come from data sets, and a solution's answer can
make them run forever or fill the memory. In here that costs one jail.
"""

from __future__ import annotations

import ast
import builtins
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

from verifiers.sandbox import frames
from verifiers.sandbox.channel import Channel
from verifiers.sandbox.programs.running import execute, new_module
from verifiers.sandbox.values import MAX_BYTES, ValueCodecError, decode, encode

_TEXT = 300


class _SpoiltError(BaseException):
    """The test cannot go on; not an Exception, so that its own handlers let this through."""


def run(channel: Channel, setup: str) -> int:
    """Serves tests until the channel closes."""
    module = new_module("tests")
    problem = execute("", setup, module)
    if problem is not None:
        channel.send(frames.PROBLEM, encode(problem))
        return 1
    channel.send(frames.LOADED, encode(()))
    while True:
        _, body = channel.receive()
        code, path = decode(body, max_values=MAX_BYTES)
        channel.send(*_Test(channel, dict(vars(module)), code, path).outcome())


class _Test:
    def __init__(self, channel: Channel, namespace: dict[str, Any], code: str, path: str) -> None:
        self.channel = channel
        self.namespace = namespace
        self.code = code
        self.path = path
        self.calls = 0
        self.spoilt: _SpoiltError | None = None

    def outcome(self) -> tuple[bytes, bytes]:
        error: BaseException | None = None
        try:
            self._run()
        except BaseException as raised:  # noqa: BLE001  # any exception is a failed test
            error = raised
        error = self.spoilt or error  # a test may have swallowed it
        if error is None:
            return frames.PASSED, encode(self.calls)
        # Without a call the solution had no part in it, and the test is at fault.
        return frames.FAILED if self.calls else frames.BROKEN, encode(self._describe(error))

    def _run(self) -> None:
        tree = ast.parse(self.code)
        for name in _unknown_names(tree, self.namespace):
            self.namespace[name] = self._proxy(name)
        self._name_the_solution()
        exec(compile(tree, "<test>", "exec"), self.namespace)  # noqa: S102  # the reference's own code, jailed
        check = self.namespace.get("check")
        if callable(check) and not isinstance(check, _Proxy):
            check(self.namespace["candidate"])

    def _name_the_solution(self) -> None:
        if not self.path:
            return
        candidate = self._proxy(self.path)
        root, _, rest = self.path.partition(".")
        self.namespace["candidate"] = self.namespace[self.path.rpartition(".")[2]] = candidate
        if rest:
            self.namespace[root.removesuffix("()")] = _ClassProxy(self._proxy, root)

    def _proxy(self, path: str) -> _Proxy:
        return _Proxy(self._call, path)

    def _call(self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.spoilt is not None:
            raise self.spoilt
        try:
            body = encode((path, list(args), kwargs))
        except ValueCodecError as error:
            self._spoil(f"calls {path} with what cannot be sent: {error}")
        self.calls += 1
        self.channel.send(frames.CALL, body)
        kind, body = self.channel.receive()
        if kind == frames.GONE:
            self._spoil("the program ended during the call, or answered too much")
        try:
            answer = decode(body)
        except ValueCodecError as error:
            answer, kind = f"{error}", frames.UNSENDABLE
        if kind == frames.RETURNED:
            return _returned(answer, args)
        if kind == frames.RAISED:
            raise _exception(answer)
        raise TypeError(f"{path} returned no plain data: {answer}"[:_TEXT])

    def _spoil(self, reason: str) -> NoReturn:
        self.spoilt = _SpoiltError(reason)
        raise self.spoilt

    def _describe(self, error: BaseException) -> str:
        """The error, and the test's own line it came from."""
        if isinstance(error, _SpoiltError):
            return str(error)[:_TEXT]
        lines = self.code.splitlines()
        numbers = [
            line
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == "<test>"
        ]
        source = lines[numbers[-1] - 1].strip() if numbers and numbers[-1] <= len(lines) else ""
        return f"{type(error).__name__} {error} at: {source}"[:_TEXT]


class _Proxy:
    """A function of the solution, as the test sees it."""

    def __init__(self, call: Callable[[str, tuple[Any, ...], dict[str, Any]], Any], path: str) -> None:
        self._call = call
        self._path = path
        self.__name__ = path.rpartition(".")[2]

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self._call(self._path, args, kwargs)


class _ClassProxy:
    """A class of the solution: an instance of it offers its methods, each call on a new instance."""

    def __init__(self, proxy: Callable[[str], _Proxy], root: str) -> None:
        self._proxy = proxy
        self._root = root

    def __call__(self) -> _ClassProxy:
        return self

    def __getattr__(self, name: str) -> _Proxy:
        return self._proxy(f"{self._root}.{name}")


def _unknown_names(tree: ast.Module, namespace: dict[str, Any]) -> list[str]:
    """Names the test uses and nobody defines: the solution's functions."""
    used, bound = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=alias):
                bound.add(alias or name.partition(".")[0])
    return sorted(used - bound - namespace.keys() - vars(builtins).keys())


def _returned(answer: object, args: tuple[Any, ...]) -> Any:
    """The value; what the solution changed in its arguments is changed in the test's own too."""
    if type(answer) is not tuple or len(answer) != 2:
        raise TypeError("the answer is not a value")
    value, changed = answer
    if type(changed) is list and len(changed) == len(args):
        for mine, theirs in zip(args, changed, strict=True):
            if type(mine) is type(theirs):
                _copy_into(mine, theirs)
    return value


def _copy_into(mine: Any, theirs: Any) -> None:
    match mine:
        case list() | bytearray():
            mine[:] = theirs
        case dict() | set():
            mine.clear()
            mine.update(theirs)
        case deque():
            mine.clear()
            mine.extend(theirs)


def _exception(answer: object) -> Exception:
    match answer:
        case (str(builtin), str(name), str(text)):
            base = getattr(builtins, builtin, Exception)
        case _:
            return TypeError("the answer is not an exception")
    if not (isinstance(base, type) and issubclass(base, Exception)):
        base = RuntimeError  # SystemExit and its kin end the solution's call, not the test
    kind: type[Exception] = base if base.__name__ == name else type(name, (base,), {})
    try:
        return kind(text)
    except TypeError:  # UnicodeDecodeError and others that want more than a text
        return RuntimeError(f"{name}: {text}")
