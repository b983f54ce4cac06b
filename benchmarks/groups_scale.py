"""Group statistics, caps and selection over many rollouts: ours against DuckDB and `datasets`.

    pip install --target FOLDER duckdb
    python benchmarks/groups_scale.py --peers FOLDER [--prompts 625000] [--data FOLDER] [--order rounds]

The rollouts are those of `groups_data.py`. Every side is measured in a process of its own, from the Parquet
files to the three tables in memory; its peak is the largest resident memory of that process. `datasets` runs
on at most a million rollouts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from groups_data import CAP, GROUP, PART_PROMPTS, write
from memory import peak

from pipelines.caps import length_caps
from pipelines.groups import COUNTED, TOL, GroupRule, group_statistics, response_lengths
from pipelines.policies import SelectionPolicy
from pipelines.prior import posteriors
from pipelines.select import decide

RULE = GroupRule(trainer_group_size=GROUP)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prompts", type=int, default=625_000, help="16 rollouts each")
    parser.add_argument("--order", choices=["published", "rounds"], default="rounds")
    parser.add_argument("--data", type=Path, help="write the rollouts here, or read those that are here")
    parser.add_argument("--peers", type=Path, help="the folder that DuckDB was installed into")
    parser.add_argument("--only", choices=list(SIDES), action="append", help="measure this side only")
    parser.add_argument("--side", choices=list(SIDES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measured(options.side, options.data, options.peers)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        data = options.data or Path(temporary)
        if not (data / "pool.parquet").exists():
            write(data, options.prompts, options.order)
        for side in options.only or SIDES:
            again = ["--side", side, "--data", str(data)]
            again += ["--peers", str(options.peers)] if options.peers else []
            subprocess.run([sys.executable, __file__, *again], check=True)


# ---------------------------------------------------------------------------------------------------
# the data


def measured(side: str, data: Path, peers: Path | None) -> dict[str, object]:
    if peers:
        sys.path.insert(0, str(peers))
    rows = pl.scan_parquet(data / "part-*.parquet").select(pl.len()).collect().item()
    begun, cpu = time.perf_counter(), time.process_time()
    found = SIDES[side](data)
    return {
        "side": side,
        "rollouts": min(rows, found.pop("rollouts", rows)),
        "seconds": round(time.perf_counter() - begun, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "peak_GB": round(peak() / 2**30, 2),
        **found,
    }


def ours(data: Path) -> dict[str, object]:
    rollouts, pool = pl.scan_parquet(data / "part-*.parquet"), pl.scan_parquet(data / "pool.parquet")
    clock = [time.process_time()]
    lengths = response_lengths(rollouts, pool, RULE)
    groups = group_statistics(rollouts, pool, RULE, lengths=lengths).collect()
    clock.append(time.process_time())
    caps = length_caps(rollouts, pool, cap_in_force=CAP, rule=RULE, lengths=lengths)
    clock.append(time.process_time())
    del lengths
    decisions = decide(pool, groups, caps, SelectionPolicy())
    clock.append(time.process_time())
    counts = decisions.group_by("decision").len().sort("decision")
    return stages(clock) | {"decisions": dict(counts.cast({"decision": pl.String}).iter_rows())}


def stages(clock: list[float]) -> dict[str, object]:
    names = ("groups_cpu_s", "caps_cpu_s", "select_cpu_s")
    return {name: round(b - a, 2) for name, a, b in zip(names, clock, clock[1:], strict=False)}


def duckdb(data: Path) -> dict[str, object]:
    import duckdb as peer

    db = peer.connect(config={"threads": 2, "memory_limit": "6GB", "temp_directory": str(data / "spill")})
    db.execute("SET preserve_insertion_order = false")
    db.execute(f"CREATE VIEW rollouts AS FROM read_parquet('{data}/part-*.parquet')")
    db.execute(f"CREATE TEMP TABLE pool AS FROM read_parquet('{data}/pool.parquet')")
    clock = [time.process_time()]
    db.execute(GROUPS_SQL)
    for table, marks in (("best", "top"), ("full", "s")):
        pairs = db.sql(f"SELECT {marks} AS s, n, count(*) AS c FROM counted GROUP BY ALL").pl()
        weighed = pairs.select(pl.col("s", "n").repeat_by("c").explode())
        db.register(table, posteriors(weighed, GROUP).to_arrow())
    db.execute(POSTERIORS_SQL)
    clock.append(time.process_time())
    db.execute(CAPS_SQL)
    clock.append(time.process_time())
    db.execute(SELECT_SQL)
    clock.append(time.process_time())
    counts = db.execute("SELECT decision, count(*) FROM decisions GROUP BY 1 ORDER BY 1").fetchall()
    return stages(clock) | {"decisions": dict(counts)}


MARKED_SQL = f"""
    SELECT *,
        CASE WHEN finish = 'abort' THEN 'aborted'
             WHEN outcome IN {COUNTED[:-1]} AND isfinite(correctness) THEN outcome
             ELSE 'verifier_error' END AS counted,
        CASE WHEN counted NOT IN ('aborted', 'verifier_error') THEN correctness END AS mark,
        CASE WHEN counted != 'aborted' THEN tokens END AS length,
        CASE WHEN counted != 'aborted' AND isfinite(mean_logprob) THEN -mean_logprob * tokens END AS nats,
        CASE WHEN counted != 'aborted' AND isfinite(repetition) THEN repetition END AS looped
    FROM rollouts
"""
GROUPS_SQL = f"""
    CREATE TEMP TABLE counted AS
    WITH marked AS ({MARKED_SQL}),
    part AS (
        SELECT prompt_id, part.name AS name, var_pop(part.value) AS variance,
            max(part.value) - min(part.value) > {TOL} AS varies
        FROM (SELECT prompt_id, unnest(parts) AS part FROM marked WHERE mark IS NOT NULL AND len(parts) > 0)
        WHERE isfinite(part.value) GROUP BY ALL
    ),
    part_list AS (
        SELECT prompt_id, list({{'name': name, 'variance': variance}} ORDER BY name) AS parts,
            bool_or(varies) AS part_varies
        FROM part GROUP BY prompt_id
    ),
    statistics AS (
        SELECT prompt_id, count(*)::INT AS rollouts, count(mark)::INT AS n,
            (count(*) FILTER (mark >= 1 - {TOL}))::INT AS s,
            {", ".join(f"(count(*) FILTER (counted = '{name}'))::INT AS {name}" for name in COUNTED)},
            avg(mark) AS mean, var_pop(mark) AS variance, max(mark) AS best, max(mark) - min(mark) AS range,
            avg(length) AS tokens_mean, quantile_cont(length, [0.5, 0.9]) AS tokens_q,
            max(length) AS tokens_max,
            sum(nats) / sum(length) FILTER (nats IS NOT NULL) AS entropy, avg(looped) AS repetition
        FROM marked GROUP BY prompt_id
    ),
    partly AS (
        SELECT marked.prompt_id, (count(*) FILTER (mark >= best - {TOL}))::INT AS top
        FROM marked JOIN statistics USING (prompt_id) WHERE best > {TOL} AND s = 0 GROUP BY ALL
    )
    SELECT statistics.*, tokens_q[1] AS tokens_p50, tokens_q[2] AS tokens_p90, pool.domain,
        coalesce(range > {TOL}, false) AS varied, coalesce(parts, []) AS parts,
        coalesce(part_varies, false) AND NOT varied AS collapsed,
        CASE WHEN s > 0 THEN s ELSE coalesce(top, 0) END AS top
    FROM statistics JOIN pool USING (prompt_id) LEFT JOIN part_list USING (prompt_id)
    LEFT JOIN partly USING (prompt_id)
"""
POSTERIORS_SQL = """
    CREATE TEMP TABLE groups AS
    SELECT counted.* EXCLUDE (tokens_q, best, top), best.alpha, best.beta, full_.pass_rate, best.p_mixed,
        best.learnability
    FROM counted JOIN best ON counted.top = best.s AND counted.n = best.n
    JOIN "full" AS full_ ON counted.s = full_.s AND counted.n = full_.n
    ORDER BY prompt_id
"""
_KAPLAN_MEIER_SQL = """
    SELECT domain, sum(ended + cut) AS rollouts, sum(cut) AS truncated,
        min(tokens) FILTER (survival <= 0.1 + 1e-9) AS quantile
    FROM (
        SELECT *, product(1 - ended / at_risk) OVER (PARTITION BY domain ORDER BY tokens) AS survival
        FROM (
            SELECT *, sum(ended + cut) OVER (PARTITION BY domain ORDER BY tokens DESC) AS at_risk
            FROM (SELECT domain, tokens, sum(ended) AS ended, sum(cut) AS cut FROM {source} GROUP BY ALL)
        )
    ) GROUP BY domain
"""
CAPS_SQL = f"""
    CREATE TEMP TABLE caps AS
    WITH lengths AS (
        SELECT domain, tokens, counted != 'verifier_error' AND correctness >= 1 - {TOL} AS correct,
            count(*) FILTER (finish != 'length') AS ended, count(*) FILTER (finish = 'length') AS cut
        FROM ({MARKED_SQL}) JOIN pool USING (prompt_id)
        WHERE counted != 'aborted' AND tokens IS NOT NULL GROUP BY ALL
    ),
    rights AS (FROM lengths WHERE correct),
    everyone AS ({_KAPLAN_MEIER_SQL.format(source="lengths")}),
    correct AS ({_KAPLAN_MEIER_SQL.format(source="rights")}),
    capped AS (
        SELECT everyone.*, CASE WHEN everyone.quantile IS NULL OR correct.quantile IS NULL THEN {CAP}
            ELSE greatest(everyone.quantile, correct.quantile) END AS cap
        FROM everyone LEFT JOIN correct USING (domain)
    )
    SELECT capped.*, (
        SELECT sum(ended + cut) FILTER (tokens > cap) / sum(ended + cut) FROM rights
        WHERE rights.domain = capped.domain
    ) AS correct_cut
    FROM capped ORDER BY domain
"""
SELECT_SQL = f"""
    CREATE TEMP TABLE decided AS
    SELECT pool.row, pool.prompt_id, pool.domain, caps.cap, p_mixed, learnability,
        CASE WHEN overlong THEN 'drop_overlong_prompt'
             WHEN n IS NULL THEN 'defer_unscorable'
             WHEN varied THEN 'keep_mixed'
             WHEN s = 0 AND truncated > (rollouts - aborted - verifier_error) * 0.5 THEN 'defer_truncated'
             WHEN n <= rollouts / 2 THEN 'defer_unscorable'
             WHEN s = n THEN 'drop_solved'
             WHEN mean <= {TOL} THEN 'drop_unsolved'
             ELSE 'drop_constant_partial' END AS decision,
        CASE decision
             WHEN 'drop_overlong_prompt' THEN printf('the prompt''s %d tokens leave no room', prompt_tokens)
             WHEN 'defer_truncated' THEN printf('%d of %d rollouts cut off', truncated, rollouts)
             WHEN 'defer_unscorable' THEN printf('only %d of %d rollouts judged', n, rollouts)
             WHEN 'drop_constant_partial' THEN printf('all %d rollouts score %.3f', n, mean)
             ELSE printf('%d of %d rollouts correct', s, n) END AS reason
    FROM pool LEFT JOIN groups USING (prompt_id)
    LEFT JOIN (SELECT domain, cap FROM caps) AS caps ON pool.domain = caps.domain;
    CREATE TEMP TABLE reserve AS
    SELECT row FROM decided WHERE decision = 'drop_unsolved' ORDER BY p_mixed DESC, prompt_id
    LIMIT (SELECT (count(*) * {SelectionPolicy().hard_reserve} / (1 - {SelectionPolicy().hard_reserve}))::INT
           FROM decided WHERE decision = 'keep_mixed');
    CREATE TEMP TABLE decisions AS
    WITH fates AS (
        SELECT decided.* REPLACE (
            CASE WHEN reserve.row IS NULL THEN decision ELSE 'keep_hard_reserve' END AS decision)
        FROM decided LEFT JOIN reserve USING (row)
    )
    SELECT row, prompt_id, domain, decision, reason,
        CASE WHEN decision LIKE 'keep%' THEN learnability END
            / (SELECT avg(learnability) FROM fates WHERE decision LIKE 'keep%') AS weight,
        CASE WHEN decision LIKE 'keep%' THEN cap END AS cap
    FROM fates ORDER BY row
"""


def map_and_filter(data: Path) -> dict[str, object]:
    """The plain statistics of each group by `datasets`: a map over groups of rows, then a filter."""
    import datasets

    datasets.disable_progress_bars()
    rows = GROUP * PART_PROMPTS
    columns = ["prompt_id", "tokens", "finish", "correctness", "outcome"]
    table = pl.scan_parquet(data / "part-*.parquet").select(columns).sort("prompt_id").head(rows).collect()
    dataset = datasets.Dataset(table.to_arrow())
    begun = time.perf_counter()
    groups = dataset.map(
        one_group, batched=True, batch_size=GROUP, remove_columns=columns, load_from_cache_file=False
    )
    kept = groups.filter(lambda group: group["range"] > TOL, load_from_cache_file=False)
    return {
        "rollouts": len(dataset),
        "map_filter_s": round(time.perf_counter() - begun, 2),
        "kept": len(kept),
    }


def one_group(batch: dict[str, list[object]]) -> dict[str, list[object]]:
    """What a user writes: the rows of one group to one row."""
    judged = [outcome != "verifier_error" for outcome in batch["outcome"]]
    marks = np.array(batch["correctness"])[judged]
    tokens = np.array(batch["tokens"])
    return {
        "prompt_id": batch["prompt_id"][:1],
        "n": [marks.size],
        "s": [int((marks >= 1 - TOL).sum())],
        **{name: [batch["outcome"].count(name)] for name in COUNTED},
        "mean": [marks.mean()],
        "variance": [marks.var()],
        "range": [np.ptp(marks)],
        "tokens_p50": [np.quantile(tokens, 0.5)],
        "tokens_p90": [np.quantile(tokens, 0.9)],
    }


SIDES = {"ours": ours, "duckdb": duckdb, "datasets": map_and_filter}

if __name__ == "__main__":
    main()
