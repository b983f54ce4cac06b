"""Judges a final mathematical answer, by default the last `\\boxed{}` of the response.

In: a response and `{"answer": "…"}` or `{"answers": [...]}` with options. Out: a `Verdict`.
"""

from verifiers.boxed.verifier import BoxedVerifier

__all__ = ["BoxedVerifier"]
