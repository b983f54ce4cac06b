"""The configuration: `curriculum.toml` as typed, validated, frozen models.

In: a TOML file and the overrides of the command line. Out: `Config`. Unknown keys are refused with
the nearest known one. Everything that decides what is generated or judged is part of the identity
of a pass; the rest can change between two runs of it.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from curriculum.errors import UsageError

FILE_NAME = "curriculum.toml"

Layout = Literal["verl", "trl", "openrlhf", "skyrl", "nemo_rl", "slime", "native"]


Share = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveShare = Annotated[float, Field(gt=0.0, le=1.0)]


class Section(BaseModel):
    """A table of the file: frozen, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PoolConfig(Section):
    """Where the prompts come from, and who judges them."""

    sources: tuple[str, ...] = ()
    layout: Layout | Literal["auto"] = "auto"
    prompt_key: str | None = None
    reference_key: str | None = None
    domain_key: str | None = None
    answer_after: str | None = None
    default_verifier: str | None = None
    default_domain: str = "default"
    verifiers: dict[str, str] = Field(default_factory=dict)
    skip_bad_rows: bool = False
    reviewed: tuple[str, ...] = ()
    """Files of verdicts on suspect references; see `curriculum.reviews`."""
    limit: int | None = Field(default=None, ge=1)
    """Take at most this many distinct prompts, spread evenly over the pool's order."""


class CheckpointConfig(Section):
    """Where `--ckpt NAME` is looked for."""

    root: Path | None = None


class SamplingConfig(Section):
    """How each rollout is sampled. Part of the identity of a pass."""

    n: int = Field(default=8, ge=1)
    temperature: float = Field(default=1.0, ge=0.0)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    top_k: int = Field(default=0, ge=-1)
    min_p: float = Field(default=0.0, ge=0.0, le=1.0)
    max_tokens: int = Field(default=4096, ge=1)
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    seed: int = 0
    logprobs: bool = True
    """Record the log-probability of the sampled tokens, which the entropy estimate needs."""
    skip_special_tokens: bool = True
    """As trainers decode. False for tool-call formats whose markers are special tokens."""


class ChatConfig(Section):
    """How a prompt is shown to the policy. Part of the identity of a pass."""

    system_prompt: str | None = None
    template_options: dict[str, Any] = Field(default_factory=dict)


class EngineConfig(Section):
    """What generates the rollouts."""

    kind: Literal["vllm", "replay"] = "vllm"
    max_in_flight: int = Field(default=1024, ge=1)
    trust_remote_code: bool = False
    vllm: dict[str, Any] = Field(default_factory=dict)


class VerificationConfig(Section):
    """How rollouts are judged."""

    workers: int = Field(default=0, ge=0)
    """Worker processes; 0 takes half the cores, at least one, at most sixteen."""
    deadline_s: float = Field(default=30.0, gt=0)
    max_pending: int = Field(default=65_536, ge=1)
    allow_unsafe_execution: bool = False
    max_error_rate: float = Field(default=0.05, ge=0.0, le=1.0)


class RewardConfig(Section):
    """Shaping of the reward that is recorded beside the raw correctness."""

    correct: float = 1.0
    wrong: float = 0.0
    malformed: float = -0.5
    no_answer: float = -0.5
    low: float = -1.0
    high: float = 1.0


class EvidenceConfig(Section):
    """Which rollouts of a trainer stand in for sampled ones; see `pipelines.observed`."""

    use: bool = True
    half_life_steps: float = Field(default=100.0, gt=0.0)
    min_rollouts: int | None = Field(default=None, ge=2)
    """None: half of sampling.n."""
    assume_fresh: bool = False


class SelectionConfig(Section):
    """Which prompts go into the set."""

    rule: Literal["varied", "posterior", "band", "learnability", "hard_first"] = "varied"
    trainer_group_size: int = Field(default=8, ge=2)
    truncated: Literal["wrong", "excluded"] = "wrong"
    tol: float = Field(default=1e-6, ge=0.0)
    min_p_mixed: float = Field(default=0.5, ge=0.0, le=1.0)
    band: tuple[Share, Share] = (0.2, 0.8)
    learnable_share: PositiveShare = 0.9
    hard_share: PositiveShare = 0.5
    min_size: int | None = Field(default=None, ge=1)
    max_size: int | None = Field(default=None, ge=1)
    hard_reserve: float = Field(default=0.05, ge=0.0, lt=1.0)
    retest: Share = 0.1
    cap_quantile: float = Field(default=0.9, gt=0.0, lt=1.0)
    trainer_window: int | None = Field(default=None, ge=2)
    """Tokens of prompt and response together that the trainer takes."""
    suspect_posterior: Share = 0.97
    quotas: dict[str, PositiveShare] = Field(default_factory=dict)
    """Domain to its largest share of the set."""

    @field_validator("band")
    @classmethod
    def _lower_first(cls, band: tuple[float, float]) -> tuple[float, float]:
        if band[0] > band[1]:
            raise ValueError("the lower pass rate comes first")
        return band

    @field_validator("max_size")
    @classmethod
    def _not_below_the_floor(cls, size: int | None, info: ValidationInfo) -> int | None:
        least = info.data.get("min_size")
        if size is not None and least is not None and size < least:
            raise ValueError(f"the ceiling is below min_size, {least}")
        return size


class PrepareConfig(Section):
    """What `curriculum prepare` looks for in a raw pool, and what it holds back."""

    against: tuple[str, ...] = ()
    evaluations: tuple[str, ...] = ()
    evaluation_key: str | None = None
    near_duplicates: float = Field(default=0.8, ge=0.0, le=1.0)
    """Least similarity; 0.0 looks for none."""
    check_references: bool = True
    solution_key: str | None = None
    max_prompt_tokens: int | None = Field(default=None, ge=1)
    tokenizer: Path | None = None
    sentinel: float = Field(default=0.02, ge=0.0)
    """Below 1 a share of the clean prompts, else a number of them."""
    sentinel_apart: float = Field(default=0.5, gt=0.0, le=1.0)
    seed: int = 0


class OutputConfig(Section):
    """Where the set goes and what it looks like."""

    dir: Path = Path("curriculum-out")
    url: str | None = None
    """Where every published set is copied to; anything fsspec can write to."""
    layout: Layout | Literal["same"] = "same"
    keep_text: bool = True
    shard_rows: int = Field(default=100_000, ge=1)


class Config(Section):
    """The whole of `curriculum.toml`."""

    pool: PoolConfig = PoolConfig()
    checkpoints: CheckpointConfig = CheckpointConfig()
    sampling: SamplingConfig = SamplingConfig()
    chat: ChatConfig = ChatConfig()
    engine: EngineConfig = EngineConfig()
    verification: VerificationConfig = VerificationConfig()
    rewards: RewardConfig = RewardConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    selection: SelectionConfig = SelectionConfig()
    prepare: PrepareConfig = PrepareConfig()
    output: OutputConfig = OutputConfig()


def load_config(path: Path | None, overrides: Mapping[str, Any] | None = None) -> Config:
    """The configuration of `path`, or of `curriculum.toml` here if there is one, or the defaults.

    Relative paths in the file are taken from the file's own folder. `overrides` maps dotted keys
    (`"sampling.n"`) to values; None means "not given".

    Raises:
        UsageError: the file is missing or not TOML, a key is unknown, a value is not valid.
    """
    if path is None and Path(FILE_NAME).is_file():
        path = Path(FILE_NAME)
    data = _read(path) if path else {}
    for dotted, value in (overrides or {}).items():
        if value is not None:
            _set(data, dotted.split("."), value)
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise _usage_error(error, path) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(
            f"no configuration file {path}", do="`curriculum init` writes a commented one"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError("the configuration is not TOML", where=f"{path}: {error}") from error
    base = path.parent
    _anchor(data, ("checkpoints", "root"), base)
    _anchor(data, ("output", "dir"), base)
    _anchor(data, ("prepare", "tokenizer"), base)
    for name, key in (
        ("pool", "sources"),
        ("pool", "reviewed"),
        ("prepare", "against"),
        ("prepare", "evaluations"),
    ):
        section = data.get(name)
        if isinstance(section, dict) and isinstance(section.get(key), list):
            section[key] = [_anchored_source(source, base) for source in section[key]]
    return data


def _anchor(data: dict[str, Any], keys: tuple[str, str], base: Path) -> None:
    section = data.get(keys[0])
    if isinstance(section, dict) and isinstance(section.get(keys[1]), str):
        section[keys[1]] = str(base / section[keys[1]])


def _anchored_source(source: object, base: Path) -> object:
    """A file or folder beside the configuration; anything else may be a dataset's name."""
    if not isinstance(source, str):
        return source
    beside = base / source
    is_file = beside.exists() or any(mark in source for mark in "*?") or Path(source).suffix != ""
    return str(beside) if is_file else source


def _set(data: dict[str, Any], keys: list[str], value: object) -> None:
    for key in keys[:-1]:
        inner = data.setdefault(key, {})
        if not isinstance(inner, dict):
            raise UsageError(f"{key} must be a table", where=f"while setting {'.'.join(keys)}")
        data = inner
    data[keys[-1]] = value


def _usage_error(error: ValidationError, path: Path | None) -> UsageError:
    """One sentence per fault, the nearest known key beside each unknown one."""
    lines = []
    for fault in error.errors():
        keys = [str(key) for key in fault["loc"]]
        dotted = ".".join(keys)
        if fault["type"] == "extra_forbidden":
            known = _known_keys(keys[:-1])
            near = difflib.get_close_matches(keys[-1], known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            lines.append(f"unknown key {dotted!r}; {hint}")
        else:
            lines.append(f"{dotted}: {fault['msg']}, got {fault['input']!r}")
    return UsageError(
        "\n".join(lines),
        where=f"in {path}" if path else "on the command line",
        do="`curriculum init` writes a commented file with every key",
    )


def _known_keys(path: list[str]) -> list[str]:
    model: type[BaseModel] = Config
    for key in path:
        annotation = model.model_fields[key].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return sorted(model.model_fields)
