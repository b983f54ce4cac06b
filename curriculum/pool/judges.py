"""Names the domain of each row and the verifier that judges it.

In: what the rows say themselves, and `ReadOptions`. Out: one domain and one verifier a row: the row's
own verifier, else its domain's in `[pool.verifiers]`, else the default.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from curriculum.errors import UsageError
from curriculum.pool.layouts import ReadOptions
from verifiers import registry


def domain_names(found: Sequence[object], options: ReadOptions) -> list[str]:
    """Domains as text; rows that name none are in the default domain."""
    unnamed = (None, "")
    return [options.default_domain if value in unnamed else str(value) for value in found]


def verifier_names(
    own: Sequence[object], domains: Sequence[str], options: ReadOptions, *, where: str
) -> list[str]:
    """The verifier of each row, given the row's own, if any, and its domain.

    Raises:
        UsageError: a domain has no verifier, or a verifier is not known or cannot be loaded.
    """
    chosen: dict[tuple[str, str], str] = {}
    named: list[str] = []
    for value, domain in zip(own, domains, strict=True):
        key = ("" if value is None else str(value), domain)
        if key not in chosen:
            chosen[key] = _verifier(*key, options, where)
        named.append(chosen[key])
    return named


def _verifier(own: str, domain: str, options: ReadOptions, where: str) -> str:
    name = own or options.verifiers.get(domain) or options.default_verifier
    if not name:
        near = difflib.get_close_matches(domain, options.verifiers, n=1)
        hint = f" (it has {near[0]!r})" if near else ""
        raise UsageError(
            f"no verifier is named for data source {domain!r}",
            where=where,
            do=f'under [pool.verifiers] add {domain!r} = "boxed" or another{hint}, or name a default',
        )
    known = registry.names()
    if name not in known and not _loads(name):
        near = difflib.get_close_matches(name, known, n=1)
        do = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}, or module.path:Class"
        raise UsageError(f"no verifier is called {name!r} (data source {domain!r})", where=where, do=do)
    return name


def _loads(name: str) -> bool:
    """Whether a name is the dotted path of a verifier that can be loaded."""
    if ":" not in name:
        return False
    try:
        registry.get(name)
    except registry.UnknownVerifierError as error:
        do = "mend the path, or install its package"
        raise UsageError(str(error), where="[pool.verifiers]", do=do) from error
    return True
