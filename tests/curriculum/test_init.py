"""The commented configuration: every key, at its default, never over a file that is there."""

import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from curriculum.config import FILE_NAME, Config, load_config
from curriculum.errors import UsageError
from curriculum.template import TEMPLATE, write_template

KEYS = [
    (section, key)
    for section, field in Config.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    for key in field.annotation.model_fields
]


def section_lines(section: str) -> list[str]:
    """The lines of `[section]` and of its sub-tables."""
    lines, inside = [], False
    for line in TEMPLATE.splitlines():
        if line.startswith("["):
            inside = line.startswith((f"[{section}]", f"[{section}."))
        if inside:
            lines.append(line)
    return lines


def test_template_parses_to_the_defaults():
    assert Config.model_validate(tomllib.loads(TEMPLATE)) == Config()


@pytest.mark.parametrize(("section", "key"), KEYS)
def test_every_key_is_there_with_a_comment(section: str, key: str):
    starts = (f"{key} =", f"# {key} =", f"[{section}.{key}]")
    [line] = [line for line in section_lines(section) if line.startswith(starts)]
    assert "  # " in line


def test_examples_of_keys_without_a_default_are_valid():
    """The file loads with every example uncommented, and each example says something."""
    uncommented = "\n".join(line.removeprefix("# ") for line in TEMPLATE.splitlines()[4:])
    config, defaults = Config.model_validate(tomllib.loads(uncommented)), Config()
    without_default = [
        (section, key) for section, key in KEYS if getattr(getattr(defaults, section), key) in (None, {})
    ]
    assert without_default
    for section, key in without_default:
        assert getattr(getattr(config, section), key), f"{section}.{key}"


def test_written_file_loads_as_the_defaults(tmp_path: Path):
    target = write_template(tmp_path)
    assert target == tmp_path / FILE_NAME
    defaults = Config()
    config = load_config(target)
    assert config.output.dir == tmp_path / defaults.output.dir
    assert config.model_copy(update={"output": defaults.output}) == defaults


def test_a_file_that_is_there_is_kept(tmp_path: Path):
    target = tmp_path / "mine.toml"
    target.write_text("# mine")
    with pytest.raises(UsageError, match="already there") as raised:
        write_template(target)
    assert "--force" in raised.value.do
    assert target.read_text() == "# mine"


def test_force_replaces_it(tmp_path: Path):
    target = tmp_path / "mine.toml"
    target.write_text("# mine")
    assert write_template(target, force=True) == target
    assert target.read_text() == TEMPLATE


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot write") as raised:
        write_template(tmp_path / "absent" / FILE_NAME)
    assert "absent" in raised.value.where
