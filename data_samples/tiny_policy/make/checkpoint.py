"""Writes and reads the policy in Hugging Face layout: config, bf16 weights, character tokenizer.

In: a `Policy`, a folder. Out: a folder that transformers and vLLM load, and back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from data_samples.tiny_policy.make.model import Policy, Shape

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>")
CHARACTERS = "\n\t" + "".join(map(chr, range(32, 127)))
VOCABULARY = {token: index for index, token in enumerate((*SPECIAL, *CHARACTERS))}
PAD, UNK, BOS, EOS = (VOCABULARY[token] for token in SPECIAL[:4])
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def encode_prompt(prompt: str) -> list[int]:
    """Token ids of one user message, as CHAT_TEMPLATE renders it with a generation prompt."""
    return [BOS, VOCABULARY["<|user|>"], *encode(prompt), VOCABULARY["<|assistant|>"]]


def encode(text: str) -> list[int]:
    return [VOCABULARY.get(character, UNK) for character in text]


TOKENS = list(VOCABULARY)


def decode(ids: list[int]) -> str:
    """The text of a rollout; special tokens vanish, as they do in vLLM."""
    return "".join(TOKENS[i] for i in ids if i >= len(SPECIAL))


def save(policy: Policy, folder: Path) -> None:
    """Writes the checkpoint `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: value.detach().to(torch.bfloat16).contiguous() for name, value in policy.state_dict().items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", config(policy.shape))
    write_json(
        folder / "generation_config.json",
        {
            "bos_token_id": BOS,
            "eos_token_id": EOS,
            "pad_token_id": PAD,
            "do_sample": True,
            "temperature": 1.0,
            "top_p": 1.0,
        },
    )
    tokenizer().save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>",
            "clean_up_tokenization_spaces": False,
            "model_max_length": policy.shape.window,
            "chat_template": CHAT_TEMPLATE,
        },
    )  # fmt: skip


def load(folder: Path) -> Policy:
    """The policy saved in `folder`, its bf16 weights widened to float32."""
    saved = json.loads((folder / "config.json").read_text())
    shape = Shape(
        vocabulary=saved["vocab_size"],
        hidden=saved["hidden_size"],
        inner=saved["intermediate_size"],
        layers=saved["num_hidden_layers"],
        heads=saved["num_attention_heads"],
    )
    policy = Policy(shape)
    policy.load_state_dict(
        {name: value.float() for name, value in load_file(folder / "model.safetensors").items()}
    )
    return policy


def config(shape: Shape) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.head,
        "hidden_act": "silu",
        "max_position_embeddings": shape.window,
        "rms_norm_eps": shape.norm_eps,
        "rope_theta": shape.rope_theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": shape.rope_theta},
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
        "dtype": "bfloat16",
        "torch_dtype": "bfloat16",
    }


def tokenizer() -> Tokenizer:
    """One token a character; characters outside printable ASCII, newline and tab are `<unk>`."""
    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    made.decoder = decoders.Fuse()
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    return made


def write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")
