"""What the newest published refresh measured.

In: an output folder. Out: `Evidence` for the forecast, or None where nothing has been published.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from curriculum.manifest import latest_refresh, read_manifest
from curriculum.scoring.forecast import Evidence


def newest_evidence(out: Path) -> Evidence | None:
    """Groups and speed of the refresh that LATEST names; None when there is none, or it has no lengths.

    Raises:
        UsageError: its manifest cannot be read.
    """
    folder = latest_refresh(out)
    if folder is None:
        return None
    manifest = read_manifest(folder)
    groups = pl.read_parquet([folder / shard.name for shard in manifest.tables["groups"]])
    if groups["tokens_mean"].is_null().all():
        return None
    # A replay has lengths, but no speed: it ran on no device.
    devices = int(manifest.run["devices"])
    speed = manifest.run["tokens_per_s"] if devices else None
    return Evidence(manifest.refresh_id, groups, speed, devices)
