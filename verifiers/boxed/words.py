"""The words a mathematical answer may contain: units, currencies, connectives, known phrases.

In: nothing. Out: tables only.
"""

from __future__ import annotations

from fractions import Fraction


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MEANINGS = {
    "nothing": "no solution, no solutions, none, no real solution, no real solutions, there is no solution",
    "nothing ": "there are no solutions, empty set, the empty set, no real roots, null, none exist",
    "undefined": "dne, d.n.e, does not exist, doesn't exist, undefined, not defined",
    "infinitely many": "infinitely many, infinitely many solutions, infinite, infinite solutions",
    "everything": "all real numbers, all reals, all real, the set of all real numbers, the real numbers",
    "everything ": "any real number, real numbers, all real values",
    "none of these": "none of the above, none of these",
    "yes": "yes",
    "no": "no",
    "true": "true",
    "false": "false",
    "impossible": "impossible, not possible, cannot be determined",
}
PHRASES = {
    phrase.strip(): meaning.strip() for meaning, phrases in _MEANINGS.items() for phrase in phrases.split(",")
}
"""Phrase -> its meaning; "nothing" is the empty set, "everything" the real line."""


def folded(text: str) -> str:
    """Words without their capitals; up to three capitals stay, for they may be names of points."""
    return text if len(text) < 3 or (len(text) == 3 and text.isupper()) else text.lower()


SEPARATORS = frozenset({"and", "or", "&", "also", "as well as"})
_MEASURES = {
    "length": "m meter metre 1, mm millimeter millimetre 1/1000, cm centimeter centimetre 1/100, dm 1/10,"
    " km kilometer kilometre 1000, in inch 254/10000, ft foot feet 3048/10000, yd yard 9144/10000,"
    " mi mile 1609344/1000",
    "time": "s sec second 1, ms 1/1000, min minute 60, h hr hour 3600, day 86400, week 604800",
    "mass": "g gram 1, mg 1/1000, kg kilogram 1000, ton tonne 1000000, lb pound 45359237/100000,"
    " oz ounce 45359237/1600000",
    "volume": "l L liter litre 1, ml mL milliliter 1/1000",
    "money": "$ dollar usd buck 1, cent ¢ 1/100",
    "angle": "° degree deg 1",
}
UNITS: dict[str, tuple[str, Fraction]] = {
    name: (kind, Fraction(scale))
    for kind, table in _MEASURES.items()
    for *names, scale in (entry.split() for entry in table.split(","))
    for name in names
}
"""Unit, in the singular -> (what it measures, its size in the base unit of that kind)."""

OTHER_UNITS = _listed(
    """hz pa mol ev kw kwh mph kph kmh rpm bpm rad radian euro yuan rupee rs cup point year yr month person
    student man woman child apple ball book box coin egg game girl boy way page piece gallon quart pint
    tile card marble pencil dog cat car mpg sq tree ticket step number digit side time unit square cubic"""
)
"""Nouns that after a number are no product of variables even without a space."""

EMPTY_UNITS = frozenset(
    {"unit", "square unit", "sq unit", "cubic unit", "unit^2", "unit^3", "units^2", "units^3"}
)
"""Words that say only "in whatever unit"."""

MULTIPLIERS = {
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
}

NOT_UNITS = _listed(
    """or and not no maybe if but least most than when where for possibly perhaps either otherwise mod more
    less fewer about approximately nor is are isn't only except between to base over under plus minus
    times divided equals instead wrong incorrect guess unknown cannot then so because since which that
    would could should may might any whatever"""
)
"""Words that no unit contains: they change the answer instead."""

FUNCTION_WORDS = _listed(
    """sin cos tan cot sec csc arcsin arccos arctan cis sinh cosh tanh log ln lg exp sqrt pi infinity infty
    alpha beta theta gcd lcm max min mod"""
)
RADIANS = _listed("rad rads radian radians")
TIMES_OF_DAY = {"noon": "pm", "midnight": "am"}
"""Twelve o'clock by its name -> which half of the day it is counted to."""
COMMAND_OF_WORD = {"infinity": "infty", "inf": "infty"}
PLURALS = {
    "feet": "foot",
    "inches": "inch",
    "people": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
}
GREEK = _listed(
    """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi
    chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell hbar"""
)
_NUMBER_WORDS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty"""
_TENS = "thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = {word: number for number, word in enumerate(_NUMBER_WORDS.split())}
NUMBER_WORDS |= {word: 30 + 10 * number for number, word in enumerate(_TENS.split())}
NUMBER_WORDS |= {
    f"{ten} {one}": NUMBER_WORDS[ten] + NUMBER_WORDS[one]
    for ten in ("twenty", *_TENS.split())
    for one in _NUMBER_WORDS.split()[1:10]
}
NUMBER_WORDS |= {"hundred": 100, "one hundred": 100}
