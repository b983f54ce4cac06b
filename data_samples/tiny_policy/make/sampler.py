"""Samples groups of rollouts from the policy, all rows of a batch at once, in NumPy.

In: the policy, prompts as token ids, the group size. Out: token ids of each rollout. Temperature 1,
top-p 1: the distribution that GRPO trains. Matrices this small cost a framework more in calls than in
arithmetic, so decoding repeats the network's forward pass here, with a key-value cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from data_samples.tiny_policy.make.checkpoint import EOS, PAD
from data_samples.tiny_policy.make.model import Policy, Shape

Floats = NDArray[np.float32]
LIVE_SHARE = 0.75
"""Rows that have finished are dropped from the batch once fewer than this share still run."""


class Decoder:
    """The forward pass with a cache of keys and values; every row is as far along as its own length."""

    def __init__(self, policy: Policy, rows: int, room: int) -> None:
        self.shape: Shape = policy.shape
        named = {name: value.detach().numpy() for name, value in policy.state_dict().items()}
        self.embedding = named["model.embed_tokens.weight"]
        self.norm = named["model.norm.weight"]
        self.layers = [layer_weights(named, index) for index in range(self.shape.layers)]
        self.cos, self.sin = policy.cos.numpy(), policy.sin.numpy()
        size = (self.shape.layers, rows, self.shape.heads, room, self.shape.head)
        self.keys, self.values = np.zeros(size, np.float32), np.zeros(size, np.float32)

    def __call__(self, ids: NDArray[np.int64], positions: NDArray[np.int64]) -> Floats:
        """Logits [rows, length, vocabulary] of `ids` at `positions`, both [rows, length]."""
        used = int(positions.max()) + 1
        rope = self.cos[positions][:, None], self.sin[positions][:, None]
        unseen = np.where(np.arange(used) > positions[..., None], np.float32(-1e9), np.float32(0))[:, None]
        x = self.embedding[ids]
        for layer, (first, qkv, out, second, gate_up, down) in enumerate(self.layers):
            heads = (rms_norm(x, first, self.shape.norm_eps) @ qkv).reshape(
                *ids.shape, 3, self.shape.heads, -1
            )
            q, k, v = heads.transpose(2, 0, 3, 1, 4)
            self.store(layer, positions, rotate(k, *rope), v)
            keys, values = self.keys[layer, :, :, :used], self.values[layer, :, :, :used]
            scores = rotate(q, *rope) @ keys.swapaxes(-1, -2) / np.sqrt(np.float32(self.shape.head))
            mixed = softmax(scores + unseen) @ values
            x = x + mixed.swapaxes(1, 2).reshape(x.shape) @ out
            gate, up = np.split(rms_norm(x, second, self.shape.norm_eps) @ gate_up, 2, axis=-1)
            x = x + (gate / (1 + np.exp(-gate)) * up) @ down
        return rms_norm(x, self.norm, self.shape.norm_eps) @ self.embedding.T

    def store(self, layer: int, positions: NDArray[np.int64], keys: Floats, values: Floats) -> None:
        rows = np.arange(len(positions))[:, None]
        self.keys[layer][rows, :, positions] = keys.swapaxes(1, 2)
        self.values[layer][rows, :, positions] = values.swapaxes(1, 2)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> None:
        """Keeps `rows`, in that order and as often as they are named."""
        self.keys, self.values = self.keys[:, rows], self.values[:, rows]


def sample_groups(
    policy: Policy, prompts: list[list[int]], *, group: int, max_tokens: int, generator: np.random.Generator
) -> list[list[int]]:
    """`group` rollouts of every prompt, in prompt order; each ends with EOS unless it was cut off."""
    lengths = np.array([len(prompt) for prompt in prompts])
    longest = int(lengths.max())
    ids = np.array([prompt + [PAD] * (longest - len(prompt)) for prompt in prompts])
    decoder = Decoder(policy, len(prompts), longest + max_tokens)
    logits = decoder(ids, np.broadcast_to(np.arange(longest), ids.shape))[
        np.arange(len(prompts)), lengths - 1
    ]
    copies = np.repeat(np.arange(len(prompts)), group)
    lengths, logits = lengths[copies], logits[copies]
    decoder.take(copies)

    drawn = np.full((len(copies), max_tokens), PAD)
    rows, running = np.arange(len(copies)), np.ones(len(copies), dtype=bool)
    for step in range(max_tokens):
        token = draw(logits, generator)
        drawn[rows[running], step] = token[running]
        running = running & (token != EOS)
        if not running.any():
            break
        if running.mean() < LIVE_SHARE:
            rows, token, lengths = rows[running], token[running], lengths[running]
            decoder.take(running)
            running = np.ones(len(rows), dtype=bool)
        logits = decoder(token[:, None], lengths[:, None])[:, 0]
        lengths = lengths + 1
    return [cut(row) for row in drawn.tolist()]


def draw(logits: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    """One token a row from softmax(logits); padding is never drawn."""
    logits[:, PAD] = -np.inf
    bounds = np.cumsum(softmax(logits), axis=-1)
    return (bounds < generator.random((len(bounds), 1)) * bounds[:, -1:]).sum(-1)


def cut(row: list[int]) -> list[int]:
    """The tokens up to the padding."""
    return row[: row.index(PAD)] if PAD in row else row


def layer_weights(named: dict[str, Floats], index: int) -> tuple[Floats, ...]:
    """Both norms and the matrices of one layer, transposed, those of the same input side by side."""

    def joined(*names: str) -> Floats:
        return np.concatenate([named[f"model.layers.{index}.{name}.weight"] for name in names]).T.copy()

    return (
        joined("input_layernorm"),
        joined("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        joined("self_attn.o_proj"),
        joined("post_attention_layernorm"),
        joined("mlp.gate_proj", "mlp.up_proj"),
        joined("mlp.down_proj"),
    )


def rms_norm(x: Floats, weight: Floats, eps: float) -> Floats:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(eps)) * weight


def softmax(x: Floats) -> Floats:
    exponent = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponent / exponent.sum(axis=-1, keepdims=True)


def rotate(x: Floats, cos: Floats, sin: Floats) -> Floats:
    half = x.shape[-1] // 2
    return x * cos + np.concatenate((-x[..., half:], x[..., :half]), axis=-1) * sin
