"""Prompts as the policy is shown them: the checkpoint's own chat template, tokenised once.

In: chat messages, a checkpoint folder, `[chat]`. Out: the exact text and token ids of each prompt,
and the policy's window. Raw text where the checkpoint has no template. No weights are loaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from curriculum.config import ChatConfig
from curriculum.errors import UsageError

Message = dict[str, str]
BATCH = 1024


@dataclass(frozen=True, slots=True)
class Rendered:
    """Token ids of many prompts in one flat array: prompt i is ids[starts[i]:starts[i + 1]]."""

    ids: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens per prompt, shape (prompts,)."""
        return np.diff(self.starts)

    def tokens(self, i: int) -> npt.NDArray[np.int32]:
        """The token ids of prompt i, without a copy."""
        return self.ids[self.starts[i] : self.starts[i + 1]]


class Renderer:
    """Renders prompts with the tokenizer and template in `checkpoint`.

    Raises:
        UsageError: the tokenizer cannot be loaded, or the template refuses a prompt.
    """

    def __init__(self, checkpoint: Path, chat: ChatConfig, *, trust_remote_code: bool = False) -> None:
        from transformers import AutoTokenizer

        try:
            self._tokenizer = AutoTokenizer.from_pretrained(
                str(checkpoint), trust_remote_code=trust_remote_code
            )
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise UsageError(
                "the checkpoint's tokenizer cannot be loaded",
                where=f"{checkpoint}: {error}",
                do="copy the tokenizer files of the base model beside the weights",
            ) from error
        self._chat = chat
        self.has_template = bool(getattr(self._tokenizer, "chat_template", None))

    def text(self, messages: Sequence[Message]) -> str:
        """One prompt, exactly as sent."""
        return self._texts([messages])[0]

    def render(self, prompts: Sequence[Sequence[Message]]) -> Rendered:
        """Token ids of every prompt, in order."""
        pieces: list[npt.NDArray[np.int32]] = []
        for start in range(0, len(prompts), BATCH):
            texts = self._texts(prompts[start : start + BATCH])
            # A template writes its own special tokens; raw text gets the tokenizer's.
            encoded = self._tokenizer(texts, add_special_tokens=not self.has_template, verbose=False)[
                "input_ids"
            ]
            pieces += [np.asarray(ids, dtype=np.int32) for ids in encoded]
        starts = np.zeros(len(pieces) + 1, dtype=np.int64)
        np.cumsum([len(piece) for piece in pieces], out=starts[1:])
        return Rendered(np.concatenate(pieces) if pieces else np.empty(0, np.int32), starts)

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        """The text of response tokens, as trainers decode them: by themselves, without the prompt."""
        text: str = self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)
        return text

    def _texts(self, prompts: Sequence[Sequence[Message]]) -> list[str]:
        conversations = [self._with_system(list(messages)) for messages in prompts]
        if not self.has_template:
            return ["\n".join(message["content"] for message in messages) for messages in conversations]
        from jinja2 import TemplateError

        try:
            texts: list[str] = self._tokenizer.apply_chat_template(
                conversations,
                tokenize=False,
                add_generation_prompt=True,
                **self._chat.template_options,
            )
        except TemplateError as error:
            raise UsageError(
                "the checkpoint's chat template refuses a prompt",
                where=f"one of {len(conversations)} prompts, the first: {conversations[0][:2]!r}: {error}",
                do="check the roles of its messages, [chat] system_prompt and [chat.template_options]",
            ) from error
        return texts

    def _with_system(self, messages: list[Message]) -> list[Message]:
        """The configured system prompt goes first, unless the prompt brings its own."""
        system = self._chat.system_prompt
        if system is None or (messages and messages[0]["role"] == "system"):
            return messages
        return [{"role": "system", "content": system}, *messages]


def policy_window(checkpoint: Path, engine_options: dict[str, Any]) -> int:
    """Prompt and response tokens the policy can hold: `max_model_len` of the engine, else its config.

    Raises:
        UsageError: neither says, or it is not a number.
    """
    configured = engine_options.get("max_model_len")
    if isinstance(configured, int) and configured > 0:
        return configured
    if configured not in (None, -1, "auto"):
        raise UsageError(
            f"max_model_len is {configured!r}",
            where="[engine.vllm]",
            do="write it as a number of tokens, so that prompts can be measured against it",
        )
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    for table in (config, config.get("text_config", {})):
        if (window := table.get("max_position_embeddings")) is not None:
            return int(window)
    raise UsageError(
        "the checkpoint does not say how long its window is",
        where=f"{checkpoint / 'config.json'}: no max_position_embeddings",
        do="set max_model_len under [engine.vllm]",
    )
