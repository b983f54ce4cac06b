"""Published sets as columns: what a real refresh writes, and what is refused."""

import json
import tracemalloc

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from curriculum.errors import UsageError
from curriculum.hooks.ids import IdIndex, ids_text, parse_column, parse_ids
from curriculum.hooks.published import open_published
from curriculum.refresh import refresh
from curriculum.scoring.progress import SilentView


@pytest.fixture(scope="module")
def real(recorded, tmp_path_factory):
    """A set that the project's own refresh has published."""
    out = tmp_path_factory.mktemp("out")
    refresh(recorded.config(out), recorded.sources, SilentView())
    return out


def test_a_refresh_is_read_as_it_was_published(real):
    read = open_published(real)
    folder = read.source.folder
    train = pl.concat([pl.read_parquet(path) for path, _ in read.source.tables["train"]])
    groups = pl.read_parquet(folder / "groups.parquet")
    wanted = train.join(groups, on="prompt_id", how="left", maintain_order="left", suffix="_g")
    assert ids_text(read.ids.words(np.arange(len(read)))) == train["prompt_id"].to_list()
    for name in ("weight", "pass_rate", "p_mixed", "alpha", "beta", "learnability", "max_tokens"):
        np.testing.assert_allclose(getattr(read, name), wanted[name].to_numpy(), rtol=1e-5)
    assert [read.domains[code] for code in read.domain] == train["domain"].to_list()


def test_the_hard_reserve_is_told_from_mixed_prompts(real):
    read = open_published(real)
    decisions = pl.read_parquet(read.source.folder / "decisions.parquet")
    hard = set(decisions.filter(pl.col("decision") == "keep_hard_reserve")["prompt_id"])
    ids = ids_text(read.ids.words(np.arange(len(read))))
    assert [one in hard for one in ids] == read.hard_reserve.tolist()


def test_a_refresh_folder_opens_like_its_output_folder(small):
    assert open_published(small.folder).source == open_published(small.out).source


def test_files_that_the_manifest_does_not_name_are_not_opened(small):
    (small.folder / "train" / "shard-00009-of-00002.parquet").write_bytes(b"not Parquet")
    assert len(open_published(small.folder)) == 103


def test_columns_take_less_than_150_bytes_a_prompt(publish, tmp_path):
    written = publish(tmp_path, "large", list(range(5_000)))
    tracemalloc.start()
    read = open_published(written.folder)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(read) == 5_000
    assert held / 5_000 < 100


def edit_manifest(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda s: (s.folder / "manifest.json").unlink(), "no manifest"),
        (lambda s: (s.folder / "manifest.json").write_text("{"), "cannot be read"),
        (lambda s: edit_manifest(s.folder, schema_version=2), "manifest version 2"),
        (lambda s: (s.folder / "groups.parquet").unlink(), "missing"),
        (lambda s: (s.folder / "groups.parquet").write_bytes(b"PAR1"), "cannot be read"),
        (lambda s: edit_manifest(s.folder, tables={}), "cannot be read"),
    ],
)
def test_a_damaged_refresh_is_refused(small, spoil, what):
    spoil(small)
    with pytest.raises(UsageError) as error:
        open_published(small.out)
    assert what in str(error.value)
    assert error.value.do


def test_a_shard_cut_short_is_refused(small):
    manifest = json.loads((small.folder / "manifest.json").read_text())
    manifest["tables"]["train"][0]["rows"] += 1
    edit_manifest(small.folder, tables=manifest["tables"])
    with pytest.raises(UsageError, match="the manifest says"):
        open_published(small.folder)


def test_an_empty_output_folder_says_what_to_run(tmp_path):
    with pytest.raises(UsageError, match=r"curriculum refresh --out"):
        open_published(tmp_path)


def test_ids_survive_the_way_through_integers():
    texts = [f"{n:032x}" for n in (0, 1, 2**64 - 1, 2**64, 2**128 - 1)]
    assert ids_text(parse_ids(texts, where="")) == texts
    column = pa.array(["x", *texts, "y"]).slice(1, 5)
    assert ids_text(parse_column(column, where="")) == texts


@pytest.mark.parametrize("bad", [["0" * 31], ["g" * 32], ["0" * 31, "0" * 33], [""], ["é" + "0" * 31]])
def test_what_is_no_id_is_refused(bad):
    for parse in (parse_ids, lambda ids, where: parse_column(pa.array(ids), where=where)):
        with pytest.raises(UsageError, match="32 hexadecimal digits"):
            parse(bad, where="here")


def test_ids_with_equal_leading_halves_are_told_apart():
    words = parse_ids([f"{5:016x}{n:016x}" for n in (3, 1, 2)] + ["0" * 32], where="")
    index = IdIndex(words, where="")
    assert index.find(words).tolist() == [0, 1, 2, 3]
    assert index.find(parse_ids([f"{5:016x}{9:016x}", "f" * 32], where="")).tolist() == [-1, -1]


def test_an_id_that_is_there_twice_is_refused():
    words = parse_ids([f"{5:016x}{n:016x}" for n in (3, 1, 3)], where="")
    with pytest.raises(UsageError, match="twice"):
        IdIndex(words, where="")


COLUMNS = ["weight", "pass_rate", "p_mixed", "max_tokens", "alpha", "beta", "domain", "hard_reserve"]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_part_has_the_columns_of_its_rows(small, name):
    whole = open_published(small.folder)
    some = np.arange(3, 90, 4)
    part = whole.part(some)
    assert getattr(part, name).tolist() == getattr(whole, name)[some].tolist()
    assert getattr(part.part(np.arange(2, 10)), name).tolist() == getattr(whole, name)[some[2:10]].tolist()


def test_a_part_is_another_set_and_the_whole_is_none(small):
    whole = open_published(small.folder)
    parts = [whole.part(rows) for rows in (np.arange(50), np.arange(51), np.arange(1, 51))]
    assert len({whole.identity, *(part.identity for part in parts)}) == 4
    assert whole.part(np.arange(50)).identity == parts[0].identity
    assert whole.part(np.arange(103)) is whole
