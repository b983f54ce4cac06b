"""What makes two prompts the same prompt: a hash of content, never of position.

In: messages, verifier name, reference. Out: `prompt_id`, 32 hexadecimal digits.

The hash is BLAKE2b with a 16-byte digest over the UTF-8 bytes of the canonical JSON of the array

    [[[role, content], …], verifier, reference]

Canonical JSON is what `canonical` writes: keys sorted by code point, no space between tokens, text
unescaped but for what JSON demands, numbers as Python prints them (1 and 1.0 differ), no NaN or
infinity. Nothing is trimmed or normalised: a prompt with one more space is another prompt. Message
fields other than role and content, and every other column of the row, leave the hash as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

Messages = list[tuple[str, str]]
"""The (role, content) pairs of one prompt, in order."""

canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode
"""The canonical JSON text of a value. Raises TypeError or ValueError on what JSON cannot hold."""

_quoted = json.encoder.encode_basestring
"""`canonical` of a string, three times as fast."""


def prompt_id(messages: Iterable[tuple[str, str]], verifier: str, reference: Mapping[str, object]) -> str:
    """The identity of a prompt.

    >>> prompt_id([("user", "1+1=")], "boxed", {"answer": "2"})
    '8ce6eba2a22d5f591bab5faee518c454'

    Raises:
        TypeError, ValueError: the reference holds what JSON cannot (UnicodeEncodeError, a ValueError,
            for half of a surrogate pair).
    """
    return digest(list(messages), verifier, canonical(dict(reference)))


def digest(messages: Messages, verifier: str, reference: str) -> str:
    """`prompt_id` of a reference that is canonical JSON already; one call a row, so it is kept lean."""
    chat = ",".join([f"[{_quoted(role)},{_quoted(content)}]" for role, content in messages])
    text = f"[[{chat}],{_quoted(verifier)},{reference}]"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
