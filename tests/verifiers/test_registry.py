"""The registry: names, dotted paths and entry points lead to verifiers, or to a remedy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifiers import registry
from verifiers.registry import UnknownVerifierError, get, names


@pytest.fixture(autouse=True)
def importable(monkeypatch, tmp_path):
    """Test verifiers and a fake installed distribution can be imported; nothing is remembered."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(Path(__file__).parent), *sys.path])
    registry.get.cache_clear()
    yield
    registry.get.cache_clear()


def install(site: Path, name: str, *lines: str) -> None:
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("\n".join(["[curriculum.verifiers]", *lines]) + "\n")


def test_a_dotted_path_gives_one_instance():
    found = get("worker_cases:Contains")
    assert found.name == "contains"
    assert get("worker_cases:Contains") is found


def test_an_entry_point_is_found_by_name(tmp_path):
    install(tmp_path, "chemistry", "balanced = worker_cases:Contains")
    assert "balanced" in names()
    assert get("balanced").name == "contains"


def test_two_packages_with_one_name_are_an_error_that_names_both(tmp_path):
    install(tmp_path, "chemistry", "balanced = worker_cases:Contains")
    install(tmp_path, "alchemy", "balanced = worker_cases:Misbehaves")
    with pytest.raises(UnknownVerifierError, match="worker_cases:Contains, worker_cases:Misbehaves"):
        get("balanced")


def test_built_in_names_cannot_be_taken(tmp_path):
    install(tmp_path, "chemistry", "boxed = worker_cases:Contains")
    assert type(get("boxed")).__name__ == "BoxedVerifier"


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN))
def test_built_in_verifiers_keep_to_the_contract(name):
    verifier = get(name)
    assert verifier.name == name
    assert verifier.version


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("boxd", "did you mean 'boxed'?"),
        ("zzz", "known: boxed, tool_calls, unit_tests, or module.path:Class"),
        ("nowhere.at_all:Thing", "ModuleNotFoundError: No module named 'nowhere'"),
        ("worker_cases:Missing", "has no attribute 'Missing'"),
        ("worker_cases:RaisesOnImport", "OSError: the word list is missing"),
        ("worker_cases:HERE.x", "has no attribute"),
        ("json:dumps", "json.dumps(obj, skipkeys"),
        ("json:dumps", "is no reward function: it needs a parameter `completions`"),
        ("math:pi", "math:pi is a float: no function, and no verifier with name, version and verify()"),
        ("no/such/file.py:f", "FileNotFoundError: there is no file"),
        (":", "cannot load :"),
    ],
)
def test_a_miss_says_what_to_do(name, says):
    with pytest.raises(UnknownVerifierError) as miss:
        get(name)
    assert says in str(miss.value)


@pytest.mark.parametrize(
    ("source", "correctness"),
    [
        ("def score(response, truth):\n    return response == truth\n", 1.0),
        ("def score(completions, answer):\n    return [float(completions == answer)]\n", 1.0),
        (
            "def score(data_source, solution_str, ground_truth, extra_info):\n"
            "    return {'score': 0.5 if data_source == 'gsm8k' else 0.0}\n",
            0.5,
        ),
    ],
    ids=["plain", "TRL", "verl"],
)
def test_a_reward_function_is_adapted(tmp_path, source, correctness):
    (tmp_path / "own_rewards.py").write_text(source)
    found = get(f"{tmp_path}/own_rewards.py:score")
    assert found.verify("4", {"answer": "4", "data_source": "gsm8k"}).correctness == correctness
    assert found.version != get("boxed").version


def test_a_miss_is_not_remembered(tmp_path):
    with pytest.raises(UnknownVerifierError):
        get("late")
    install(tmp_path, "late_package", "late = worker_cases:Contains")
    assert get("late").name == "contains"
