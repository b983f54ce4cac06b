"""Where rollouts come from: a checkpoint to sample from, or a recording in its place.

In: configuration and names. Out: `Policy`, with the pool's prompts as it is shown them. No weights are
loaded here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from curriculum.checkpoints import Checkpoint, resolve_checkpoint
from curriculum.config import Config
from curriculum.engines.replay import RECORDING, load_recording, recording_fingerprint
from curriculum.engines.vllm import require_vllm
from curriculum.errors import UsageError
from curriculum.pool.keys import prompt_keys
from curriculum.pool.read import Pool
from curriculum.render import Rendered, Renderer, policy_window


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a refresh is asked to use, beside the configuration."""

    checkpoint: str | None = None
    recording: Path | None = None
    key: str = "prompt_id"  # the column of the recording that names the prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A checkpoint, or a recording in its place."""

    name: str
    fingerprint: str
    checkpoint: Checkpoint | None = None
    renderer: Renderer | None = None
    prompts: Rendered | None = None  # the pool's distinct prompts, in order; None when replaying
    window: int | None = None  # tokens of prompt and response together
    recording: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=RECORDING))

    def room(self, prompt_tokens: int) -> int | None:
        """Response tokens that fit beside a prompt; None when replaying."""
        return None if self.window is None else self.window - prompt_tokens


def find_source(config: Config, sources: Sources) -> Checkpoint | Path:
    """The checkpoint, or the path of the recording; found before anything large is read.

    Raises:
        UsageError: none is named, or it does not go with the engine; no such checkpoint; no vLLM.
    """
    if config.engine.kind == "replay":
        if sources.recording is None:
            raise UsageError(
                "the replay engine needs recorded rollouts", do="name a Parquet or JSONL file with --rollouts"
            )
        return sources.recording
    if sources.recording is not None:
        raise UsageError("--rollouts goes with --engine replay", do="add --engine replay")
    if sources.checkpoint is None:
        raise UsageError("no checkpoint is named", do="add --ckpt NAME, for example --ckpt step_2000")
    require_vllm()
    return resolve_checkpoint(sources.checkpoint, config.checkpoints.root)


def open_policy(config: Config, source: Checkpoint | Path, pool: Pool, *, key: str) -> Policy:
    """The policy, with the pool's prompts rendered by its tokenizer and template, or its recording.

    Raises:
        UsageError: the tokenizer, the template, the window or the recording cannot be used.
    """
    if isinstance(source, Path):
        recording = load_recording(source, key=key, prompt_keys=prompt_keys(pool, key))
        return Policy(name="replay", fingerprint=recording_fingerprint(recording), recording=recording)
    renderer = Renderer(source.path, config.chat, trust_remote_code=config.engine.trust_remote_code)
    return Policy(
        name=source.name,
        fingerprint=source.fingerprint,
        checkpoint=source,
        renderer=renderer,
        prompts=renderer.render(pool.distinct["prompt"].to_list()),
        window=policy_window(source.path, config.engine.vllm),
    )
