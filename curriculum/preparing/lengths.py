"""How long prompts are, in tokens of the policy that will be trained.

In: the raw pool, the folder of a tokenizer. Out: one row a prompt with its length, and the limit in force.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from curriculum.checkpoints import Checkpoint
from curriculum.config import Config
from curriculum.errors import UsageError
from curriculum.preparing.raw import Raw
from curriculum.render import Renderer, policy_window

LENGTHS = pl.Schema({"prompt_id": pl.String, "prompt_tokens": pl.Int32})

_FILES = ("tokenizer*", "special_tokens*", "added_tokens*", "vocab*", "merges*", "chat_template*", "*.model")


@dataclass(frozen=True, slots=True)
class LengthRule:
    """A tokenizer, and the most tokens a prompt may have by it."""

    tokenizer: Path
    fingerprint: str  # of the tokenizer's files
    most: int


def length_rule(config: Config, checkpoint: Checkpoint | None) -> LengthRule | None:
    """The configured limit, else one token less than the checkpoint's window; None without a tokenizer.

    Raises:
        UsageError: a limit without a tokenizer, or a tokenizer without a limit.
    """
    most, folder = config.prepare.max_prompt_tokens, config.prepare.tokenizer
    if checkpoint is not None:
        folder = checkpoint.path
        most = most or policy_window(checkpoint.path, config.engine.vllm) - 1
    if folder is None:
        if most is not None:
            raise UsageError(
                "prompts cannot be measured without a tokenizer",
                where="prepare.max_prompt_tokens",
                do="name a folder with --tokenizer, or a checkpoint with --ckpt",
            )
        return None
    if most is None:
        raise UsageError(
            "a tokenizer is named, but no limit",
            where="prepare.tokenizer",
            do="add --max-prompt-tokens",
        )
    return LengthRule(folder, _fingerprint(folder), most)


def prompt_lengths(raw: Raw, rows: pl.DataFrame, rule: LengthRule, config: Config) -> pl.DataFrame:
    """The length of each of `rows` (column row), as the policy is shown it: schema LENGTHS.

    Raises:
        UsageError: the tokenizer cannot be loaded, or its template refuses a prompt.
    """
    renderer = Renderer(rule.tokenizer, config.chat, trust_remote_code=config.engine.trust_remote_code)
    frames = []
    for part in range(raw.parts):
        frame = raw.frame(part).join(rows.select("row"), on="row", how="semi", maintain_order="left")
        lengths = renderer.render(frame["prompt"].to_list()).lengths
        frames.append(frame.select("prompt_id", prompt_tokens=pl.Series(lengths, dtype=pl.Int32)))
    return pl.concat(frames)


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _FILES for path in folder.glob(pattern) if path.is_file()}):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
