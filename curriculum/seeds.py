"""Seeds that depend only on what they are for.

In: pass, prompt and index. Out: integers that no run order, worker count or restart changes.
"""

from __future__ import annotations

from hashlib import blake2b


def rollout_seed(pass_id: str, prompt_id: str, index: int) -> int:
    """The sampling seed of one rollout, in 0 .. 2**63 - 1."""
    digest = blake2b(f"{pass_id}/{prompt_id}/{index}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
