"""The pages against the code: file tree, configuration keys, commands, links."""

import json
import re
import tomllib
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from curriculum import cli
from curriculum.config import Config

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFIGURATION = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGES = ("curriculum", "verifiers", "pipelines")

FIELDS = [
    (section, key, default)
    for section, field in Config.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    for key, default in field.annotation().model_dump(mode="json").items()
]


def tree() -> dict[str, str]:
    """Paths of the README's file tree, with the line on each."""
    [block] = re.findall(r"```text\n(curriculum/.*?)```", README, re.DOTALL)
    entries, package = {}, ""
    for line in block.splitlines():
        if not line.startswith(" "):
            package = line
        else:
            name, _, about = line.strip().partition(" ")
            entries[package + name] = about.strip()
    return entries


def rooms(package: str) -> set[str]:
    """What is in a package: its modules and the folders that hold some."""
    folder = ROOT / package
    modules = {f"{package}/{path.name}" for path in folder.glob("*.py") if path.name != "__init__.py"}
    return modules | {f"{package}/{path.name}/" for path in folder.iterdir() if any(path.glob("*.py"))}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_file_tree_is_true(package: str):
    assert {path for path in tree() if path.startswith(f"{package}/")} == rooms(package)


def test_the_file_tree_is_sorted_and_says_something_of_each():
    for package in PACKAGES:
        paths = [path for path in tree() if path.startswith(f"{package}/")]
        assert paths == sorted(paths)
    assert all(tree().values())


@pytest.mark.parametrize(("section", "key", "default"), FIELDS)
def test_every_key_is_explained_with_its_default(section: str, key: str, default: object):
    [body] = re.findall(rf"^## \[{section}\].*?(?=^## |\Z)", CONFIGURATION, re.DOTALL | re.MULTILINE)
    [(shown, meaning)] = re.findall(rf"^\| `{key}` \| (.+?) \| (.+) \|$", body, re.MULTILINE)
    said = None if shown == "none" else json.loads(shown.strip("`"))
    assert said == default
    assert meaning


def test_no_key_is_explained_that_does_not_exist():
    explained = re.findall(r"^\| `(\w+)` \|", CONFIGURATION, re.MULTILINE)
    assert explained == [key for _, key, _ in FIELDS]


def test_the_readme_names_every_command():
    assert all(f"curriculum {name}" in README for name in cli.COMMANDS)


def test_options_that_the_pages_name_exist():
    ours = {"--debug", "--help", "--version"}
    known = ours | {
        option
        for name in cli.COMMANDS
        for parameter in cli.main.get_command(click.Context(cli.main), name).params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    named = set(re.findall(r"`(--[a-z-]+)", README + CONFIGURATION))
    assert named - known == set()


def test_the_quickstart_configuration_is_valid():
    [example] = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    assert Config.model_validate(tomllib.loads(example)).pool.sources


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_hold_no_emoji(page: Path):
    assert not re.findall(r"[\U0001F000-\U0001FAFF☀-➿]", page.read_text(encoding="utf-8"))
