"""The command as a shell meets it: light to start, errors as lines, exit codes that say what to do."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from curriculum import cli
from curriculum.errors import CurriculumError, EngineError, NothingError, UsageError

HEAVY = ("polars", "pyarrow", "torch", "vllm", "datasets", "pydantic", "numpy", "rich", "transformers")


def run_python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """Makes `curriculum refresh` and `curriculum diff` raise what the test wants."""

    def install(error: BaseException) -> None:
        @click.command()
        def command() -> None:
            raise error

        monkeypatch.setattr(cli, "failing_command", command, raising=False)
        failing_entry = {"refresh": ("curriculum.cli:failing_command", "Fails.")}
        monkeypatch.setattr(cli, "COMMANDS", {**failing_entry, "diff": failing_entry["refresh"]})

    return install


def test_help_imports_nothing_heavy(tmp_path: Path):
    code = (
        "import sys; from curriculum.cli import main\n"
        "try: main(['--help'])\n"
        f"finally: print(sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr)"
    )
    ran = run_python(code, tmp_path)
    assert ran.returncode == 0
    assert ran.stderr.strip() == "[]"
    for name, (_, summary) in cli.COMMANDS.items():
        assert name in ran.stdout
        assert summary.split()[0] in ran.stdout


def test_help_takes_less_than_a_third_of_a_second_of_processor_time(tmp_path: Path):
    code = (
        "import resource; from curriculum.cli import main\n"
        "try: main(['--help'])\n"
        "finally:\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    import sys; print(used.ru_utime + used.ru_stime, file=sys.stderr)"
    )
    assert min(float(run_python(code, tmp_path).stderr) for _ in range(3)) < 0.3


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_helps_with_an_example(name: str):
    command = cli.main.get_command(click.Context(cli.main), name)
    assert command is not None
    ran = CliRunner().invoke(cli.main, [name, "--help"])
    assert ran.exit_code == 0
    assert "Example:" in ran.output
    assert f"curriculum {name}" in ran.output


@pytest.mark.parametrize("name", [name for name in cli.COMMANDS if name != "init"])
def test_commands_with_a_result_print_it_as_json(name: str):
    assert "--json" in CliRunner().invoke(cli.main, [name, "--help"]).output


def test_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert version("rlvr-curriculum") in CliRunner().invoke(cli.main, ["--version"]).output


@pytest.mark.parametrize(("error", "code"), [(UsageError, 2), (EngineError, 4), (NothingError, 5)])
def test_an_error_is_its_lines_and_its_exit_code(failing, error: type[CurriculumError], code: int):
    failing(error("the key is unknown", where="curriculum.toml: pool.souces", do="write pool.sources"))
    ran = CliRunner().invoke(cli.main, ["refresh"])
    assert ran.exit_code == code
    assert ran.stdout == ""
    assert ran.stderr.splitlines() == [
        "Error: the key is unknown",
        "  curriculum.toml: pool.souces",
        "  write pool.sources",
    ]


def test_debug_adds_the_traceback(failing):
    failing(UsageError("the key is unknown"))
    ran = CliRunner().invoke(cli.main, ["--debug", "refresh"])
    assert ran.exit_code == 2
    assert "Traceback (most recent call last)" in ran.stderr
    assert ran.stderr.endswith("Error: the key is unknown\n")


def test_debug_can_come_from_the_environment(failing):
    failing(UsageError("the key is unknown"))
    ran = CliRunner().invoke(cli.main, ["refresh"], env={"CURRICULUM_DEBUG": "1"})
    assert "Traceback" in ran.stderr


def test_a_bug_keeps_its_exception(failing):
    failing(ZeroDivisionError("a bug"))
    ran = CliRunner().invoke(cli.main, ["refresh"])
    assert isinstance(ran.exception, ZeroDivisionError)


def test_an_interrupted_refresh_says_that_it_can_go_on(failing):
    failing(KeyboardInterrupt())
    ran = CliRunner().invoke(cli.main, ["refresh"])
    assert ran.exit_code == 130
    assert ran.stderr.strip() == "Interrupted; the pass is kept and the same command continues it."


def test_an_interrupted_comparison_promises_nothing(failing):
    failing(KeyboardInterrupt())
    ran = CliRunner().invoke(cli.main, ["diff"])
    assert (ran.exit_code, ran.stderr.strip()) == (130, "Interrupted.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["refesh"], "did you mean 'refresh'?"),
        (["sandwich"], f"known: {', '.join(cli.COMMANDS)}"),
        (["diff", "--nonsense", "a", "b"], "--nonsense"),
        (["diff", "a"], "Missing argument"),
    ],
)
def test_usage_errors_exit_with_two(arguments: list[str], says: str):
    ran = CliRunner().invoke(cli.main, arguments)
    assert ran.exit_code == 2
    assert says in ran.stderr


def test_init_writes_the_file_and_prints_where(tmp_path: Path):
    target = tmp_path / "curriculum.toml"
    first = CliRunner().invoke(cli.main, ["init", str(target)])
    assert (first.exit_code, first.stdout.strip()) == (0, str(target))
    again = CliRunner().invoke(cli.main, ["init", str(target)])
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert CliRunner().invoke(cli.main, ["init", str(target), "--force"]).exit_code == 0
