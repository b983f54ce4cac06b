"""Reads one scalar expression from tokens straight to its exact value.

In: a `Cursor`. Out: `Ratio`, the cursor left behind the expression. A degree sign and a percent sign
become the marks `DEGREE` and `PERCENT`, factors that the caller takes off again. Recursion is bounded
by `MAX_DEPTH`, work by the surrounding `metered` block.
"""

from __future__ import annotations

from verifiers.boxed import functions
from verifiers.boxed.algebra import (
    INFINITY,
    ONE,
    PI,
    Atom,
    E,
    I,
    Ratio,
    as_integer,
    of_atom,
    rational,
)
from verifiers.boxed.bounds import TooHardError, UnreadableError, spend
from verifiers.boxed.marks import DEGREE, PERCENT, degree_sign, radians, refuse_infinity
from verifiers.boxed.numerals import mixed_part, numeral
from verifiers.boxed.powers import power, root
from verifiers.boxed.tokens import MAX_DEPTH, Cursor, Token
from verifiers.boxed.words import GREEK

_TRIGONOMETRIC = frozenset({"sin", "cos", "tan", "cot", "sec", "csc", "cis"})
_SEVERAL = frozenset({"gcd", "lcm", "max", "min"})
_FUNCTIONS = functions.names() - {"abs", "floor", "ceil", "phi", "Gamma", "deg"}
_FACTOR_COMMANDS = (
    GREEK | _FUNCTIONS | _SEVERAL | {"pi", "frac", "sqrt", "binom", "lfloor", "lceil", "log", "infty"}
)
_TIMES = ("*", "cdot", "times", "ast", "bullet")


class Expressions:
    """Reads expressions by recursive descent: sum, product, signed factor, power, primary."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.depth = 0
        self.open_bars = 0
        """How many | are open, so that the next one closes instead of opening an absolute value."""

    def sum(self) -> Ratio:
        """The value of a sum of products."""
        cursor = self.cursor
        total = self._product()
        while cursor.next_is("+", "-"):
            minus = cursor.take().text == "-"
            term = self._product()
            refuse_infinity(total, term)
            total = total - term if minus else total + term
        return total

    def _product(self) -> Ratio:
        cursor = self.cursor
        total = self._signed()
        while True:
            if cursor.accept(*_TIMES):
                factor = self._signed()
            elif cursor.accept("/", "div"):
                factor = ONE / self._signed()
            elif self._starts_factor():
                factor = self._power()
            else:
                return total
            refuse_infinity(total, factor)
            total = total * factor

    def _signed(self) -> Ratio:
        minus = False
        while self.cursor.next_is("+", "-"):
            minus ^= self.cursor.take().text == "-"
        value = self._power()
        return -value if minus else value

    def _starts_factor(self) -> bool:
        token = self.cursor.peek()
        if token is None:
            return False
        if token.kind == "num":
            return self.cursor.tokens[self.cursor.at - 1].kind != "num"
        if token.kind == "op":
            following = self.cursor.peek(1)
            if following is not None and following.text in ("mod", "bmod"):
                return False
            return token.text in ("(", "[", "{") or (token.text == "|" and not self.open_bars)
        if token.kind == "cmd":
            if token.text == "frac" and self.cursor.words_ahead(2):
                return False  # 60 \frac{miles}{hour} is a unit
            return token.text in _FACTOR_COMMANDS or (token.text == "vert" and not self.open_bars)
        return token.kind == "let" or token.text in ("e", "i")

    def _power(self) -> Ratio:
        value = self._postfix(self._primary())
        while self.cursor.accept("^"):
            value = (
                value * of_atom(DEGREE)
                if degree_sign(self.cursor)
                else functions.raised(value, self._exponent())
            )
            value = self._postfix(value)
        return value

    def _exponent(self) -> Ratio:
        minus = False
        while self.cursor.next_is("+", "-"):
            minus ^= self.cursor.take().text == "-"
        if (token := self.cursor.peek()) is not None and token.kind == "num":
            value = numeral(self.cursor.take().text)
        else:
            value = self._primary()
        return -value if minus else value

    def _postfix(self, value: Ratio) -> Ratio:
        while True:
            if self.cursor.accept("!"):
                value = functions.factorials(value)
            elif self.cursor.accept("\\%", "%"):
                value = value * of_atom(PERCENT)
            elif self.cursor.accept("circ"):
                value = value * of_atom(DEGREE)
            else:
                return value

    # ---- primaries -----------------------------------------------------------------------------

    def _primary(self) -> Ratio:
        spend(1)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooHardError(f"more than {MAX_DEPTH} expressions inside one another")
        token = self.cursor.take()
        if token.kind == "num":
            value = self._numeral(token)
        elif token.kind == "let":
            value = self._letter(token)
        elif token.kind == "txt" and token.text in ("e", "i"):
            value = of_atom(E if token.text == "e" else I)
        elif token.kind == "op":
            value = self._group(token)
        elif token.kind == "cmd":
            value = self._command(token.text)
        else:
            raise UnreadableError(f"words where a value should be: {token.text[:20]!r}")
        self.depth -= 1
        return value

    def _group(self, token: Token) -> Ratio:
        closing = {"(": ")", "[": "]", "{": "}", "|": "|"}.get(token.text)
        if closing is None:
            raise UnreadableError(f"{token.text} where a value should be")
        return self._absolute(closing) if closing == "|" else self._inside(closing)

    def _inside(self, closing: str) -> Ratio:
        bars, self.open_bars = self.open_bars, 0
        value = self.sum()
        if self.cursor.accept("choose"):
            value = functions.binomial(value, self.sum())
        self.cursor.expect(closing)
        self.open_bars = bars
        return value

    def _absolute(self, closing: str) -> Ratio:
        self.open_bars += 1
        value = self.sum()
        self.cursor.expect(closing)
        self.open_bars -= 1
        return functions.absolute(value)

    def _numeral(self, token: Token) -> Ratio:
        value = numeral(token.text)
        if token.text.isdigit():
            part = mixed_part(self.cursor)
            if part is not None:
                return value + rational(part)
        following = self.cursor.peek()
        if following is not None and following.kind == "num":
            raise UnreadableError("two numbers side by side")
        return value

    def _letter(self, token: Token) -> Ratio:
        if token.text in ("e", "\\mathbf{e}") and not self.cursor.next_is("_"):
            return of_atom(E)
        if token.text == "i" and not self.cursor.next_is("_"):
            return of_atom(I)
        return of_atom(Atom("var", token.text + self._decoration()))

    def _decoration(self) -> str:
        """The subscript and primes that belong to a letter, as text."""
        text = ""
        if self.cursor.accept("_"):
            text = "_" + "".join(self._subscript())
        while self.cursor.accept("'"):
            text += "'"
        return text

    def _subscript(self) -> list[str]:
        cursor = self.cursor
        opening = cursor.at
        first = cursor.take()
        if first.text != "{":
            return [first.text]
        inner = cursor.tokens[opening + 1 : cursor.partner[opening]]
        cursor.at = cursor.partner[opening] + 1
        return [token.text for token in inner]

    # ---- commands ------------------------------------------------------------------------------

    def _command(self, name: str) -> Ratio:
        if name == "pi":
            return of_atom(PI)
        if name == "infty":
            return of_atom(INFINITY)
        if name in ("frac", "binom"):
            top, bottom = self._argument(), self._argument()
            return top / bottom if name == "frac" else functions.binomial(top, bottom)
        if name == "sqrt":
            return self._root()
        if name in ("lfloor", "lceil"):
            return functions.apply(name[1:], self._inside("r" + name[1:]))
        if name == "vert":
            return self._absolute("vert")
        if name in _SEVERAL:
            return self._several(name)
        if name in _FUNCTIONS:
            return self._function(name)
        if name in GREEK:
            return of_atom(Atom("var", "\\" + name + self._decoration()))
        raise UnreadableError(f"unknown command {name[:20]}")

    def _argument(self) -> Ratio:
        """A group, or as in TeX one sign: \\frac12 is one half."""
        token = self.cursor.peek()
        if token is not None and token.kind == "num":
            if not token.text.isdigit():
                raise UnreadableError("a decimal without braces")
            if len(token.text) == 1:
                self.cursor.at += 1
            else:
                self.cursor.tokens[self.cursor.at] = Token("num", token.text[1:], False)
            return numeral(token.text[0])
        return self._primary()

    def _root(self) -> Ratio:
        degree = 2
        if self.cursor.accept("["):
            given = as_integer(self._inside("]"))
            if given is None:
                raise UnreadableError("a root of unknown degree")
            degree = given
        token = self.cursor.peek()
        if token is not None and token.kind == "num":
            value = numeral(self.cursor.take().text)
        else:
            value = self._primary()
        return root(value, degree)

    def _several(self, name: str) -> Ratio:
        closing = {"(": ")", "\\{": "\\}", "[": "]"}.get(self.cursor.take().text)
        if closing is None:
            raise UnreadableError(f"{name} without arguments")
        arguments = [self.sum()]
        while self.cursor.accept(",", ";"):
            arguments.append(self.sum())
        self.cursor.expect(closing)
        return functions.several(name, arguments)

    def _function(self, name: str) -> Ratio:
        cursor = self.cursor
        base, exponent = None, None
        for _ in range(2):
            if cursor.accept("_"):
                base = self._exponent()
            elif cursor.accept("^"):
                exponent = self._exponent()
        argument = self._function_argument()
        if name in _TRIGONOMETRIC:
            argument = radians(argument)
            if exponent is not None and as_integer(exponent) == -1:
                name, exponent = "arc" + name, None
        if base is not None:
            if name != "log":
                raise UnreadableError(f"{name} with a base")
            value = functions.log(argument, base)
        else:
            value = functions.apply(name, argument)
        return value if exponent is None else power(value, exponent)

    def _function_argument(self) -> Ratio:
        if self.cursor.next_is("(", "{", "["):
            return self._primary()
        value = self._signed()
        while self._starts_factor() and not self.cursor.next_is("(", *_FUNCTIONS):
            value = value * self._power()
        return value
