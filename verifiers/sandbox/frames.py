"""The kinds of message between the trusted side and a jailed program.

In: nothing. Out: one byte a kind; bodies are `values.encode` of what stands in brackets.

    to a program                              from it
    SOLUTION (prelude, code, root name)       LOADED () | PROBLEM (kind, text)
    CALL (path, args, kwargs)                 RETURNED (value, changed args or None) | UNSENDABLE (text)
                                              | RAISED (nearest built-in class, class, text)
    SCRIPT (prelude, code)                    LOADED () | PROBLEM (kind, text)
    JUDGE (setup)                             LOADED () | PROBLEM (kind, text)
    TEST (code, path)                         CALL, to be answered as above or with GONE (); then
                                              PASSED (calls made) | FAILED (text) | BROKEN (text)
    PROBE ()                                  ESCAPES ([text])
    (first of all)                            LOCKED () | JAIL_FAILED: plain UTF-8 text
"""

from __future__ import annotations

SOLUTION, SCRIPT, JUDGE, PROBE = b"S", b"P", b"J", b"?"
CALL, TEST, GONE = b"C", b"T", b"G"

LOCKED, JAIL_FAILED = b"+", b"!"
LOADED, PROBLEM, ESCAPES = b"L", b"X", b"e"
RETURNED, RAISED, UNSENDABLE = b"R", b"E", b"U"
PASSED, FAILED, BROKEN = b"p", b"f", b"b"

# Kinds of PROBLEM.
SYNTAX, EXCEPTION, MISSING = "syntax", "exception", "missing"
