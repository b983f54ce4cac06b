"""The signs of mathematical text: Unicode characters and the LaTeX commands that mean the same.

In: nothing. Out: tables only.
"""

from __future__ import annotations


def _pairs(text: str) -> dict[str, str]:
    entries = [entry.split() for entry in text.split("|")]
    return {entry[0]: entry[1] for entry in entries}


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _ends_in_name(command: str) -> bool:
    """True when a letter put behind `command` would become part of its name."""
    return "\\" in command and command[-1].isalpha()


_CHARACTERS = r"""
− - | – - | — - | ‐ - | ‑ - | ﹣ - | × \times | ⋅ \cdot | · \cdot | ∗ * | ÷ / | ∕ / | ⁄ / | √ \sqrt
| ∛ \sqrt[3] | ∜ \sqrt[4] | π \pi | ∞ \infty | ∪ \cup | ∩ \cap | ∅ \emptyset | ∈ \in | ≤ \le | ≥ \ge
| ⩽ \le | ⩾ \ge | ≠ \ne | ≈ \approx | ≡ \equiv | ± \pm | ∓ \mp | ° ^\circ | º ^\circ | ∘ ^\circ | ′ '
| ’ ' | ⟨ \langle | ⟩ \rangle | 〈 \langle | 〉 \rangle | ⌊ \lfloor | ⌋ \rfloor | ⌈ \lceil | ⌉ \rceil
| ℝ \mathbb{R} | ℤ \mathbb{Z} | ℕ \mathbb{N} | ℚ \mathbb{Q} | ℂ \mathbb{C} | ∖ \setminus | ∨ \lor
| ∧ \land | … \ldots | ⋯ \ldots | ∠ \angle | α \alpha | β \beta | γ \gamma | δ \delta | θ \theta
| λ \lambda | μ \mu | φ \phi | ω \omega | σ \sigma | ρ \rho | τ \tau | ε \epsilon | ， , | ； ; | 。 .
| （ ( | ） ) | ： : | ％ \%
"""

UNICODE = {
    **{sign: command + " " * _ends_in_name(command) for sign, command in _pairs(_CHARACTERS).items()},
    **dict.fromkeys("\u202f\u2009\u200a", r"\,"),
    **dict.fromkeys("\u2061\u2062\u200b", ""),
    "\u00a0": " ",
}
"""Character -> plain LaTeX."""

SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))

SYNONYMS = _pairs(
    """
    cosec csc | arcctg arccot | tg tan | ctg cot | varphi phi | varepsilon epsilon | vartheta theta
    | leq le | geq ge | leqslant le | geqslant ge | neq ne | lt < | gt > | tfrac frac | dfrac frac
    | cfrac frac | dbinom binom | tbinom binom | dots ldots | cdots ldots | varnothing emptyset | vee lor
    | wedge land | to rightarrow | lbrace { | rbrace } | lvert vert | rvert vert | degree circ
    | degrees circ | colon : | backslash setminus | asin arcsin | acos arccos | atan arctan
    """
)
"""Command -> the one command or sign used for it from here on."""

TEXT_COMMANDS = _listed(
    """
    text textbf textit textrm textsf texttt textnormal mbox hbox mathrm mathsf mathit mathtt
    operatorname rm bf it emph underline textsc
    """
)
"""Commands whose argument is text."""

NAME_COMMANDS = _listed(
    """
    mathbf boldsymbol bm vec hat bar overline overrightarrow overleftrightarrow widehat widetilde
    tilde mathbb mathcal mathscr mathfrak overarc dot ddot
    """
)
"""Commands that make one symbol of their argument."""
