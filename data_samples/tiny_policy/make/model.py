"""The tiny policy's network: a Llama in plain PyTorch.

In: token ids. Out: logits. Parameter names are those of `transformers.LlamaForCausalLM`, so the
state dict is saved as it is and read by transformers and vLLM.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of the network. Heads are 32 wide: the smallest size vLLM's CPU attention accepts."""

    vocabulary: int
    hidden: int = 96
    inner: int = 256
    layers: int = 3
    heads: int = 3
    window: int = 512
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5

    @property
    def head(self) -> int:
        return self.hidden // self.heads


class Norm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(shape.hidden, shape.hidden, bias=False) for _ in range(4)
        )

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
        rows, length, _ = x.shape
        q, k, v = (
            p(x).view(rows, length, self.heads, -1).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(q, *rope), rotate(k, *rope)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(out.transpose(1, 2).reshape(rows, length, -1))


class Mlp(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.down_proj = nn.Linear(shape.inner, shape.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn = Attention(shape)
        self.mlp = Mlp(shape)
        self.input_layernorm = Norm(shape.hidden, shape.norm_eps)
        self.post_attention_layernorm = Norm(shape.hidden, shape.norm_eps)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), rope)
        return x + self.mlp(self.post_attention_layernorm(x))


class Trunk(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.hidden, shape.norm_eps)


class Policy(nn.Module):
    """A causal language model with tied embeddings."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.model = Trunk(shape)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                last = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.04 if last else 0.1)
        frequency = 1.0 / shape.rope_theta ** (torch.arange(0, shape.head, 2).float() / shape.head)
        angles = torch.outer(torch.arange(shape.window).float(), frequency).repeat(1, 2)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits [rows, length, vocabulary] of `ids` [rows, length]; rows are padded on the right."""
        rope = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, rope)
        return F.linear(self.model.norm(x), self.model.embed_tokens.weight)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding in the half-split layout that Llama checkpoints use."""
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin
