"""What moved between two published refreshes, and why.

In: two refresh folders. Out: `RefreshDiff`: the inputs that differ, and over the prompts both know
how decisions, pass rates and length caps changed. Equal prompts count once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from curriculum.errors import UsageError
from curriculum.manifest import LATEST, NAME, REFRESHES, Manifest, latest_refresh, read_manifest

ALL = "all"
"""The row of a table that takes all domains together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two refreshes."""

    refresh_id: str
    path: str
    created_at: str
    checkpoint: str
    pool_rows: int
    set_rows: int
    signal_before: float | None
    signal_after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An input that differs; None on the side that does not have the key."""

    kind: str  # checkpoint | pool | setting | verifier
    key: str
    a: Any
    b: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshDiff:
    """Two refreshes side by side. Rows of the tables are plain dictionaries, sorted."""

    a: Side
    b: Side
    inputs: list[Change]
    prompts_both: int
    prompts_only_a: int
    prompts_only_b: int
    moves: list[dict[str, Any]]  # a, b: decisions; prompts; over prompts in both pools, most first
    pass_rates: list[dict[str, Any]]  # domain, prompts scored in both, a, b, change: posterior means
    caps: list[dict[str, Any]]  # domain, a, a_identified, b, b_identified
    examples: list[dict[str, Any]]  # prompts whose decision changed, largest change of pass rate first

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def diff_refreshes(a: Path, b: Path, *, examples: int = 10) -> RefreshDiff:
    """Compares the refreshes in folders `a` and `b`.

    Raises:
        UsageError: a folder is not a published refresh, or a file that its manifest names is gone.
    """
    manifest_a, manifest_b = read_manifest(a), read_manifest(b)
    decisions_a, decisions_b = _decisions(a, manifest_a), _decisions(b, manifest_b)
    groups_a, groups_b = _groups(a, manifest_a), _groups(b, manifest_b)
    both = decisions_a.join(decisions_b, on="prompt_id", suffix="_b")
    scored = groups_a.join(groups_b, on="prompt_id", suffix="_b")
    return RefreshDiff(
        a=_side(a, manifest_a),
        b=_side(b, manifest_b),
        inputs=_inputs(manifest_a, manifest_b),
        prompts_both=both.height,
        prompts_only_a=decisions_a.height - both.height,
        prompts_only_b=decisions_b.height - both.height,
        moves=_moves(both),
        pass_rates=_pass_rates(scored),
        caps=_caps(manifest_a, manifest_b),
        examples=_examples(both, scored, examples),
    )


def find_refresh(name: str, out: Path) -> Path:
    """The refresh folder that `name` means: a path, an id under `out`, or LATEST.

    Raises:
        UsageError: there is none; the message lists those that are published.
    """
    if name == LATEST:
        latest = latest_refresh(out)
        if latest is not None:
            return latest
    for folder in (Path(name), out / REFRESHES / name):
        if (folder / NAME).is_file():
            return folder
    published = sorted(path.parent.name for path in (out / REFRESHES).glob(f"*/{NAME}"))
    raise UsageError(
        f"no published refresh is called {name!r}",
        where=f"published under {out / REFRESHES}: {', '.join(published) or 'none'}",
        do="name one of these, a path, or LATEST; --out names another folder",
    )


def _table(folder: Path, manifest: Manifest, table: str) -> pl.DataFrame:
    files = [folder / shard.name for shard in manifest.tables[table]]
    try:
        return pl.read_parquet(files)
    except (FileNotFoundError, pl.exceptions.PolarsError) as error:
        raise UsageError(
            f"table {table!r} of the refresh cannot be read: {error}",
            where=str(folder),
            do="restore the file that the manifest names, or compare another refresh",
        ) from error


def _decisions(folder: Path, manifest: Manifest) -> pl.DataFrame:
    """prompt_id, domain, decision, reason; of equal prompts the one that was decided on its merits."""
    duplicate = pl.col("decision") == "drop_duplicate"
    return (
        _table(folder, manifest, "decisions")
        .with_columns(pl.col("decision").cast(pl.String))
        .sort(duplicate, "row")
        .unique("prompt_id", keep="first", maintain_order=True)
        .select("prompt_id", "domain", "decision", "reason")
    )


def _groups(folder: Path, manifest: Manifest) -> pl.DataFrame:
    return _table(folder, manifest, "groups").select("prompt_id", "domain", "pass_rate")


def _side(folder: Path, manifest: Manifest) -> Side:
    kept = sum(count for decision, count in manifest.counts.items() if decision.startswith("keep"))
    return Side(
        refresh_id=manifest.refresh_id,
        path=str(folder),
        created_at=manifest.created_at,
        checkpoint=str(manifest.checkpoint.get("name")),
        pool_rows=sum(manifest.counts.values()),
        set_rows=kept,
        signal_before=manifest.signal.get("before"),
        signal_after=manifest.signal.get("after"),
    )


def _inputs(a: Manifest, b: Manifest) -> list[Change]:
    sections = {
        "checkpoint": (a.checkpoint, b.checkpoint),
        "pool": (_pool(a), _pool(b)),
        "setting": (_flat(a.config), _flat(b.config)),
        "verifier": (a.verifiers, b.verifiers),
    }
    return [
        Change(kind=kind, key=key, a=of_a.get(key), b=of_b.get(key))
        for kind, (of_a, of_b) in sections.items()
        for key in sorted({*of_a, *of_b})
        if of_a.get(key) != of_b.get(key)
    ]


def _pool(manifest: Manifest) -> dict[str, Any]:
    return {**manifest.pool, "files": [file["path"] for file in manifest.pool.get("files", [])]}


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested table as dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _moves(both: pl.DataFrame) -> list[dict[str, Any]]:
    return (
        both.group_by(a="decision", b="decision_b")
        .agg(prompts=pl.len())
        .sort("prompts", "a", "b", descending=[True, False, False])
        .to_dicts()
    )


def _pass_rates(scored: pl.DataFrame) -> list[dict[str, Any]]:
    """Mean posterior pass rates per domain (as B names it), and over all."""
    mean = {
        "prompts": pl.len(),
        "a": pl.col("pass_rate").mean(),
        "b": pl.col("pass_rate_b").mean(),
        "change": (pl.col("pass_rate_b") - pl.col("pass_rate")).mean(),
    }
    by_domain = scored.group_by(domain="domain_b").agg(**mean).sort("domain")
    return [*by_domain.to_dicts(), *scored.select(pl.lit(ALL).alias("domain"), **mean).to_dicts()]


def _caps(a: Manifest, b: Manifest) -> list[dict[str, Any]]:
    of_a = {row["domain"]: row for row in a.caps}
    of_b = {row["domain"]: row for row in b.caps}
    return [
        {
            "domain": domain,
            "a": of_a.get(domain, {}).get("cap"),
            "a_identified": of_a.get(domain, {}).get("identified"),
            "b": of_b.get(domain, {}).get("cap"),
            "b_identified": of_b.get(domain, {}).get("identified"),
        }
        for domain in sorted({*of_a, *of_b})
    ]


def _examples(both: pl.DataFrame, scored: pl.DataFrame, count: int) -> list[dict[str, Any]]:
    rates = scored.select("prompt_id", "pass_rate", "pass_rate_b")
    change = (pl.col("pass_rate_b") - pl.col("pass_rate")).abs()
    compared = ("decision", "reason", "pass_rate")
    return (
        both.filter(pl.col("decision") != pl.col("decision_b"))
        .join(rates, on="prompt_id", how="left")
        .sort(change, "prompt_id", descending=[True, False], nulls_last=True)
        .head(count)
        .select("prompt_id", "domain_b", *(name + side for side in ("", "_b") for name in compared))
        .rename({"domain_b": "domain", **{name: f"{name}_a" for name in compared}})
        .to_dicts()
    )
