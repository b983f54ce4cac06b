"""The vLLM engine: one in-process AsyncLLM, one request per rollout.

In: a checkpoint folder, `[sampling]`, `[engine]`. Out: the `Engine` protocol. One request per
(prompt, index) gives every rollout a seed of its own; prefix caching makes the shared prompt cheap.
`[engine.vllm]` reaches vLLM's own arguments untouched.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from curriculum.config import EngineConfig, SamplingConfig
from curriculum.engines.base import Completion, Finish, Request
from curriculum.engines.orphans import own_engines
from curriculum.errors import EngineError, UsageError
from curriculum.render import Renderer

INSTALL = "pip install 'rlvr-curriculum[vllm]' on a GPU machine, 'rlvr-curriculum[cpu]' elsewhere"

CPU_KV_CACHE_BYTES = 2 * 2**30

FINISHES: dict[str | None, Finish] = {"stop": "stop", "length": "length"}
"""vLLM's finish reasons; any other means that the request was given up."""


def require_vllm() -> None:
    """Checks that vLLM is installed, without importing it.

    Raises:
        UsageError: it is not.
    """
    from importlib.util import find_spec

    if find_spec("vllm") is None:
        raise UsageError("vLLM is not installed", where="engine.kind = 'vllm'", do=INSTALL)


class VllmEngine:
    """A policy served by vLLM in this process (its core runs in child processes of its own)."""

    def __init__(
        self, checkpoint: Path, renderer: Renderer, sampling: SamplingConfig, engine: EngineConfig
    ) -> None:
        self._checkpoint = checkpoint
        self._renderer = renderer
        self._sampling = sampling
        self._config = engine
        self._llm: Any = None
        self._base: Any = None
        self._device = "vllm"

    @property
    def device(self) -> str:
        return f"{self.devices} × {self._device}" if self.devices > 1 else self._device

    @property
    def devices(self) -> int:
        sizes = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
        count = 1
        for size in sizes:
            count *= int(self._config.vllm.get(size, 1))
        return count

    async def start(self) -> None:
        require_vllm()
        own_engines()
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")  # no report leaves a cluster unasked
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
        os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")  # standard output is the result's
        from vllm import AsyncEngineArgs
        from vllm.platforms import current_platform
        from vllm.v1.engine.async_llm import AsyncLLM

        self._device = str(current_platform.get_device_name())
        try:
            self._llm = AsyncLLM.from_engine_args(AsyncEngineArgs(**self.arguments()))
        except TypeError as error:
            raise UsageError("vLLM does not know an argument", where=f"[engine.vllm]: {error}") from error
        except (RuntimeError, ValueError, OSError) as error:
            raise EngineError(
                "vLLM could not load the checkpoint",
                where=f"{self._checkpoint}: {error}",
                do="`curriculum doctor` shows what is installed; memory is set under [engine.vllm]",
            ) from error
        self._base = self.sampling_params()

    def sampling_params(self) -> Any:
        """vLLM's SamplingParams of the configuration; seed and max_tokens are each request's own."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        sampling = self._sampling
        return SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p,
            stop=list(sampling.stop) or None,
            stop_token_ids=list(sampling.stop_token_ids) or None,
            logprobs=0 if sampling.logprobs else None,
            flat_logprobs=sampling.logprobs,
            output_kind=RequestOutputKind.FINAL_ONLY,
            skip_special_tokens=sampling.skip_special_tokens,
            # Text is made once, of the whole response, as trainers make it: following it token by token
            # costs several times as much. Only stop strings need that.
            detokenize=bool(sampling.stop),
            skip_clone=True,
        )

    def arguments(self) -> dict[str, Any]:
        """What vLLM's engine is made with."""
        from vllm.platforms import current_platform

        return {
            "model": str(self._checkpoint),
            "enable_prefix_caching": True,
            # Entropy is that of the sampling distribution: after temperature and top-p.
            "logprobs_mode": "processed_logprobs",
            "trust_remote_code": self._config.trust_remote_code,
            "disable_log_stats": True,
            "use_tqdm_on_load": False,  # there is a view already
            **(_cpu_defaults(self._config.vllm) if current_platform.is_cpu() else {}),
            **self._config.vllm,
        }

    async def generate(self, request: Request) -> Completion:
        from vllm.exceptions import VLLMError
        from vllm.inputs import tokens_input
        from vllm.v1.engine.exceptions import EngineDeadError

        params = self._base.clone()
        params.seed = request.seed
        params.max_tokens = request.max_tokens
        outputs = self._llm.generate(
            tokens_input(request.token_ids.tolist()), params, f"{request.prompt_id}-{request.index}"
        )
        final: Any = None
        try:
            async for output in outputs:
                final = output
        except EngineDeadError as error:
            raise EngineError(
                "the vLLM engine died",
                where=f"{self._checkpoint}: {error}",
                do="what is in the journal is kept: run the same command to continue",
            ) from error
        except VLLMError as error:
            return _aborted(request, str(error) or type(error).__name__)
        if final is None:
            return _aborted(request, "vLLM gave no output")
        return self._completion(request, final.outputs[0])

    def _completion(self, request: Request, output: Any) -> Completion:
        finish = FINISHES.get(output.finish_reason)
        if finish is None:
            return _aborted(request, f"vLLM gave the request up: {output.finish_reason}")
        tokens = len(output.token_ids)
        total = output.cumulative_logprob
        mean_logprob = total / tokens if total is not None and tokens else None
        text = output.text if self._sampling.stop else self._text(output, finish)
        return Completion(request.prompt_id, request.index, text, tokens, finish, mean_logprob)

    def _text(self, output: Any, finish: Finish) -> str:
        """The response without the token that ended it."""
        ids = output.token_ids[:-1] if finish == "stop" else output.token_ids
        return self._renderer.decode(ids, skip_special_tokens=self._sampling.skip_special_tokens)

    async def stop(self) -> None:
        if self._llm is not None:
            self._llm.shutdown()
            self._llm = None


def _cpu_defaults(configured: dict[str, Any]) -> dict[str, Any]:
    """What vLLM's own defaults get wrong on a CPU."""
    # A seeded request whose prefill is split over two steps kills the CPU worker.
    defaults: dict[str, Any] = {"enable_chunked_prefill": False}
    # The default takes 92% of the machine's memory, and fails where that is not free.
    if not {"kv_cache_memory_bytes", "gpu_memory_utilization"} & configured.keys():
        defaults["kv_cache_memory_bytes"] = CPU_KV_CACHE_BYTES
    return defaults


def _aborted(request: Request, error: str) -> Completion:
    line = error.splitlines()[0] if error else ""
    return Completion(request.prompt_id, request.index, "", None, "abort", error=line)
