"""What a pass is: the hash of everything that decides its rollouts and verdicts.

In: pool, checkpoint, configuration, verifiers. Out: `PassIdentity` with its id, and the list of
settings in which two identities differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from curriculum.config import Config

PLACEMENT_OPTIONS = frozenset(
    {
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "data_parallel_size",
        "gpu_memory_utilization",
        "kv_cache_memory_bytes",
        "max_num_seqs",
        "max_num_batched_tokens",
        "enforce_eager",
        "disable_log_stats",
        "distributed_executor_backend",
        "load_format",
        "download_dir",
    }
)
"""vLLM arguments that say where and how fast, not what: a pass continues on other hardware."""


@dataclass(frozen=True, slots=True)
class PassIdentity:
    """Equal settings give an equal `pass_id`, on any machine and in any folder."""

    settings: dict[str, Any]

    @property
    def pass_id(self) -> str:
        """32 hex digits."""
        canonical = json.dumps(self.settings, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return blake2b(canonical.encode(), digest_size=16).hexdigest()


def pass_identity(
    config: Config, *, pool_hash: str, policy: str, verifiers: Mapping[str, str]
) -> PassIdentity:
    """The identity of a pass.

    Args:
        config: of it, only what decides what is generated or judged.
        pool_hash: content hash of the pool, after `pool.limit`.
        policy: fingerprint of the checkpoint, or of the recording that stands in for it.
        verifiers: name to version of every verifier in use.
    """
    return PassIdentity(
        {
            "pool": pool_hash,
            "policy": policy,
            "engine": config.engine.kind,
            "engine_options": _deciding_options(config),
            "sampling": config.sampling.model_dump(mode="json"),
            "chat": config.chat.model_dump(mode="json"),
            "rewards": config.rewards.model_dump(mode="json"),
            "verification": {"deadline_s": config.verification.deadline_s},
            "keep_text": config.output.keep_text,
            "verifiers": dict(sorted(verifiers.items())),
        }
    )


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> list[str]:
    """One line per setting that differs: `sampling.temperature: 1.0 -> 0.8`."""
    lines: list[str] = []
    for key in sorted({*old, *new}):
        a, b = old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            lines += differences(a, b, f"{prefix}{key}.")
        elif a != b:
            lines.append(f"{prefix}{key}: {a} -> {b}")
    return lines


def _deciding_options(config: Config) -> dict[str, Any]:
    if config.engine.kind != "vllm":
        return {}
    options = {key: value for key, value in config.engine.vllm.items() if key not in PLACEMENT_OPTIONS}
    return options | {"trust_remote_code": config.engine.trust_remote_code}
