"""Finds a checkpoint by the name people call it, and makes sure that it is whole.

In: a name ("step_2000", "latest", a path) and the folder in which a trainer keeps its checkpoints.
Out: `Checkpoint`: the folder that vLLM can load, its training step, a fingerprint of the policy.

    verl      global_step_2000/actor/huggingface, global_step_2000/actor
    TRL       checkpoint-2000
    plain     step_2000  step-2000  step_002000  2000, or any folder by its own name

are looked for in the root and in the run folders directly inside it. A folder of exactly the asked name
comes before folders of the same step. "latest" is the highest step that is whole.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from curriculum.errors import UsageError

_STEP = re.compile(r"(?:(?:global[-_]?)?step|checkpoint|ckpt)?[-_]?(\d+)", re.IGNORECASE)

_POLICY_FOLDERS = ("actor/huggingface", "actor/hf_model", "actor", "huggingface", "hf_model", ".")
"""Where a step folder keeps its policy in Hugging Face layout; the first three are verl's."""

_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "tekken.json",
    "*.tiktoken",
)

_POLICY_FILES = (
    "config.json", "generation_config.json", "*.py", "tokenizer*", "special_tokens_map.json",
    "added_tokens.json", "vocab.*", "merges.txt", "*.model", "*.tiktoken", "tekken.json",
    "chat_template*", "additional_chat_templates/*", "*processor_config.json", "*.safetensors",
    "*.safetensors.index.json", "pytorch_model*.bin", "pytorch_model*.bin.index.json",
)  # fmt: skip
"""What a policy is. All else in the folder (optimizer, scheduler, trainer and random state) is not."""

_NOT_POLICY = ("optimizer", "scheduler")

_WHOLE = 64 * 2**20
_HEAD = 2**20
_BLOCKS = 64
_BLOCK = 64 * 2**10


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A whole checkpoint in Hugging Face layout."""

    name: str
    """The step folder's own name, or the folder's where it carries no step."""
    path: Path
    """The folder with config.json, tokenizer and weights."""
    step: int | None
    """The training step that the name tells."""
    fingerprint: str
    """Identity of the policy, see `fingerprint`."""


def resolve_checkpoint(name: str, root: Path | None) -> Checkpoint:
    """The checkpoint called `name`.

    Args:
        name: a step ("step_2000", "2000", "checkpoint-2000"), a folder in `root` or in one of its runs
            ("run_a/step_2000"), "latest", or a path.
        root: where checkpoints are kept; None when only paths are given.

    Raises:
        UsageError: nothing has that name (the names that exist are listed, nearest first), several
            folders have it, or the checkpoint is not whole (what is missing is named).
    """
    found = _latest(root) if name == "latest" else _matches(name, root)
    if not found:
        raise UsageError(
            f"no checkpoint is called {name!r}",
            where=f"looked in {root or Path.cwd()}",
            do=_known(name, root),
        )
    if len(found) > 1:
        raise UsageError(
            f"{name!r} may be any of {len(found)} checkpoints",
            where=", ".join(str(path) for path in found),
            do="give the path of one, or its name with the run's folder before it",
        )
    folder = found[0]
    policy = _policy_folder(folder)
    faults = _faults(policy)
    if faults:
        raise UsageError(
            f"checkpoint {name!r} is not whole: {'; '.join(faults)}", where=str(policy), do=_remedy(policy)
        )
    step_folder = _step_folder(folder)
    return Checkpoint(step_folder.name, policy, _step_of(step_folder.name), fingerprint(policy))


def _matches(name: str, root: Path | None) -> list[Path]:
    """The folders that `name` can mean, each once: by path and by exact name, else by step."""
    given = [Path(name).expanduser(), *([root / name] if root else [])]
    exact = [*given, *(folder for folder in _folders(root) if folder.name == name)]
    found = [folder for folder in exact if folder.is_dir()]
    if not found and (step := _step_of(name)) is not None:
        found = [folder for folder in _folders(root) if _step_of(folder.name) == step]
    return _once(found)


def _latest(root: Path | None) -> list[Path]:
    """The folders of the highest step that is whole; of the highest step when none is."""
    steps: dict[int, list[Path]] = {}
    for folder in _folders(root):
        if (step := _step_of(folder.name)) is not None:
            steps.setdefault(step, []).append(folder)
    for step in sorted(steps, reverse=True):
        whole = [folder for folder in steps[step] if not _faults(_policy_folder(folder))]
        if whole:
            return _once(whole)
    return _once(steps[max(steps)]) if steps else []


def _folders(root: Path | None) -> list[Path]:
    """The folders in the root, then those in its runs, which are the folders whose name tells no step."""
    if root is None or not root.is_dir():
        return []
    top = _inside(root)
    return [*top, *(folder for run in top if _step_of(run.name) is None for folder in _inside(run))]


def _inside(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _once(folders: Sequence[Path]) -> list[Path]:
    return list({folder.resolve(): folder for folder in reversed(folders)}.values())[::-1]


def _step_of(name: str) -> int | None:
    """The step that a name tells: the number after step, global_step, checkpoint or ckpt, or alone."""
    found = _STEP.fullmatch(name)
    return int(found[1]) if found else None


def _step_folder(folder: Path) -> Path:
    """The folder itself, or what holds verl's actor/huggingface."""
    folder = folder.resolve()
    return _step_folder(folder.parent) if folder.name in ("actor", "huggingface", "hf_model") else folder


def _known(name: str, root: Path | None) -> str:
    """The remedy for a wrong name: the checkpoints there are, nearest first."""
    if root is None:
        return "give a path, or name the folder of checkpoints with --ckpt-root"
    if not root.is_dir():
        return f"there is no folder {root}; name the folder of checkpoints with --ckpt-root"
    there = sorted({folder.name for folder in _folders(root) if _is_checkpoint(folder)})
    if not there:
        return f"{root} holds no checkpoints"
    step = _step_of(name)
    near = sorted(there, key=lambda other: (_distance(step, _step_of(other)), -_likeness(name, other)))
    return f"there are: {', '.join(near[:10])}" + (f" and {len(near) - 10} more" if len(near) > 10 else "")


def _is_checkpoint(folder: Path) -> bool:
    return _step_of(folder.name) is not None or (_policy_folder(folder) / "config.json").is_file()


def _distance(step: int | None, other: int | None) -> float:
    return float("inf") if step is None or other is None else abs(step - other)


def _likeness(name: str, other: str) -> float:
    return difflib.SequenceMatcher(None, name, other).ratio()


def _policy_folder(folder: Path) -> Path:
    """The first of the customary folders that is whole, else the first that has a config, else the folder."""
    there = [folder / inside for inside in _POLICY_FOLDERS if (folder / inside / "config.json").is_file()]
    return next((path for path in there if not _faults(path)), there[0] if there else folder)


# ---- whole or not ----


def _faults(policy: Path) -> list[str]:
    """What is missing or cut short in a policy's folder; empty when it is whole."""
    faults = [] if (policy / "config.json").is_file() else ["config.json is missing"]
    if not any(True for pattern in _TOKENIZERS for _ in policy.glob(pattern)):
        faults.append("the tokenizer is missing (tokenizer.json or another vocabulary)")
    return faults + _weight_faults(policy)


def _weight_faults(policy: Path) -> list[str]:
    indexes = [*policy.glob("*.safetensors.index.json"), *policy.glob("pytorch_model*.bin.index.json")]
    shards: set[str] = set()
    for index in indexes:
        try:
            shards |= set(json.loads(index.read_bytes())["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError):
            return [f"{index.name} is cut short or no index of weights"]
    missing = sorted(name for name in shards if not (policy / name).is_file())
    if missing:
        return [f"{len(missing)} of {len(shards)} weight files are missing: {', '.join(missing[:3])}"]
    files = [policy / name for name in shards] or list(_weights(policy))
    if not files:
        return ["the weights are missing (model.safetensors or pytorch_model.bin)"]
    return [f"{file.name} {fault}" for file in sorted(files) if (fault := _safetensors_fault(file))]


def _weights(policy: Path) -> Iterator[Path]:
    for pattern in ("*.safetensors", "pytorch_model*.bin"):
        yield from (
            file for file in policy.glob(pattern) if not file.name.startswith((*_NOT_POLICY, "adapter_"))
        )


def _safetensors_fault(file: Path) -> str:
    """Compares a file's size with what its header says (8 bytes of header length, header, tensors)."""
    if file.suffix != ".safetensors":
        return "" if file.stat().st_size else "is empty"
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 + length:
            return f"is cut short: {size} bytes, its header alone is {8 + length}"
        try:
            header = json.loads(stream.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        except (ValueError, LookupError, TypeError, AttributeError):
            return "has a header that is no safetensors header"
    expected = 8 + length + max(ends, default=0)
    return "" if size == expected else f"has {size} bytes, its header says {expected}"


def _remedy(policy: Path) -> str:
    steps = [folder.name for folder in _inside(policy) if _step_of(folder.name) is not None]
    if steps:
        return f"it is a run that holds checkpoints; name one: {', '.join(steps[:10])}"
    actor = policy.parent if policy.name == "huggingface" else policy
    for folder in (actor, actor / "actor"):
        if any(folder.glob("model_world_size_*.pt")) or (folder / "dist_ckpt").is_dir():
            backend = "megatron" if (folder / "dist_ckpt").is_dir() else "fsdp"
            return (
                "verl saved it sharded; merge it: python -m verl.model_merger merge "
                f"--backend {backend} --local_dir {folder} --target_dir {folder / 'huggingface'}"
            )
    if (policy / "adapter_config.json").is_file():
        return "it holds a LoRA adapter; merge it into its base model and save both model and tokenizer"
    return "wait until the trainer has finished writing it, or choose another checkpoint"


# ---- what the policy is ----


def fingerprint(policy: Path) -> str:
    """SHA-256 (hex) of what makes the policy: config, tokenizer, chat template, generation config, weights.

    Over the files in order of name: name, size, content. Of a file over 64 MiB the content is sampled: the
    first MiB (in which safetensors keep their header) and 64 blocks of 64 KiB evenly spaced to its end; a
    training step changes weights everywhere, so two steps do not agree in all of them. Neither the place of
    the folder nor the time of its files counts, nor do optimizer, scheduler and trainer state.
    """
    files = {
        file.relative_to(policy).as_posix(): file
        for pattern in _POLICY_FILES
        for file in policy.glob(pattern)
        if file.is_file() and not file.name.startswith(_NOT_POLICY)
    }
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(f"{name}\0{file.stat().st_size}\0{_content(file)}\0".encode())
    return digest.hexdigest()


def _content(file: Path) -> str:
    size = file.stat().st_size
    with file.open("rb") as stream:
        if size <= _WHOLE:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        digest = hashlib.sha256(stream.read(_HEAD))
        for block in range(1, _BLOCKS + 1):
            stream.seek((size - _BLOCK) * block // _BLOCKS)
            digest.update(stream.read(_BLOCK))
        return digest.hexdigest()
