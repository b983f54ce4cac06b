"""The commented `curriculum.toml` that `curriculum init` writes.

In: a path. Out: a file that parses to the defaults of `curriculum.config.Config`, every key with a
line on what it does; keys without a default stand in it as comments.
"""

from __future__ import annotations

from pathlib import Path

from curriculum.config import FILE_NAME
from curriculum.errors import UsageError

TEMPLATE = """\
# Configuration of `curriculum refresh`. Every key is here at its default; one that is left out keeps it.
# A line that begins with "# key =" is a key without a default, shown with an example.
# Options of the command line override this file. Relative paths start at the folder of this file.

[pool]  # where the prompts come from, and who judges them
sources = []                      # files, globs, save_to_disk folders or dataset names: ["data/*.parquet"]
layout = "auto"                   # auto | verl | trl | openrlhf | skyrl | nemo_rl | slime | native
# prompt_key = "question"         # column of the prompt, where the layout's own name does not fit
# reference_key = "solution"      # column of what a response is judged against, likewise
# domain_key = "source"           # column of the domain, likewise; caps and reports are per domain
# answer_after = "####"           # the reference is what stands behind the last of these in a worked solution
# default_verifier = "boxed"      # boxed | unit_tests | tool_calls | module.path:Class, for rows without one
default_domain = "default"        # domain of rows that name none
skip_bad_rows = false             # true: count rows that cannot be read and go on; false: stop at the first
reviewed = []                     # suspects.csv of earlier refreshes, with verdicts: accept | fix | drop
# limit = 1000                    # take at most this many distinct prompts, spread evenly over the pool

[pool.verifiers]  # data_source -> verifier, for rows without a verifier of their own
# "openai/gsm8k" = "boxed"

[checkpoints]
# root = "checkpoints"            # where --ckpt NAME is looked for: verl, TRL and plain folders

[sampling]  # how each rollout is sampled; a change here starts a new pass
n = 8                             # rollouts per prompt
temperature = 1.0                 # as in training, or the pass rates are not the trainer's
top_p = 1.0                       # nucleus sampling; 1.0 is off
top_k = 0                         # the k likeliest tokens; 0 or -1 is off
min_p = 0.0                       # tokens under this share of the likeliest are left out; 0.0 is off
max_tokens = 4096                 # length limit of a response, in tokens
stop = []                         # strings that end a response, besides the checkpoint's own
stop_token_ids = []               # token ids that end a response, likewise
seed = 0                          # every rollout's own seed is derived from this one
logprobs = true                   # record the mean log-probability of each rollout; gives the entropy
skip_special_tokens = true        # as trainers decode; false where special tokens mark a tool call

[chat]  # how a prompt is shown to the policy; a change here starts a new pass
# system_prompt = "Put the answer in \\\\boxed{}."  # put before prompts that have no system message

[chat.template_options]  # passed to the checkpoint's chat template
# enable_thinking = true

[engine]
kind = "vllm"                     # vllm | replay: generate, or judge recorded rollouts again
max_in_flight = 1024              # requests given to the engine at once
trust_remote_code = false         # true: run Python code that the checkpoint's folder brings along

[engine.vllm]  # passed to vLLM's engine arguments as it is
# tensor_parallel_size = 2
# gpu_memory_utilization = 0.9

[verification]
workers = 0                       # processes that judge; 0: half the cores, at least 1, at most 16
deadline_s = 30.0                 # seconds for one judgement, then its worker is killed and replaced
max_pending = 65536               # responses that may wait for a worker before generation is slowed down
allow_unsafe_execution = false    # true: run generated code even where no jail can be had
max_error_rate = 0.05             # stop when more than this share of rollouts could not be judged

[rewards]  # shaping of the recorded reward; selection looks at raw correctness only
correct = 1.0                     # full marks; partial ones lie between `wrong` and this
wrong = 0.0                       # an answer was given and it is wrong
malformed = -0.5                  # something was given that cannot be read as one answer
no_answer = -0.5                  # nothing was given as an answer
low = -1.0                        # no reward is lower
high = 1.0                        # no reward is higher

[evidence]  # rollouts that the trainer reported through curriculum.hooks stand in for sampled ones
use = true                        # false: sample every prompt
half_life_steps = 100.0           # training steps after which an observed rollout is worth half
# min_rollouts = 4                # what a prompt's must be worth together; half of sampling.n when left out
assume_fresh = false              # true: count those of the newest set where step or checkpoint has no number

[selection]  # which prompts go into the set
rule = "varied"                   # varied | posterior | band | learnability | hard_first: docs/selection.md
trainer_group_size = 8            # rollouts per prompt in training; may differ from sampling.n
truncated = "wrong"               # wrong | excluded: what the trainer does with responses cut off
tol = 1e-6                        # correctness closer together than this does not differ
min_p_mixed = 0.5                 # posterior: least chance that a fresh group is mixed
band = [0.2, 0.8]                 # band: lowest and highest pass rate
learnable_share = 0.9             # learnability: the best prompts that hold this share of the pool's p(1-p)
hard_share = 0.5                  # hard_first: this share of the prompts that vary, the hardest first
# min_size = 1000                 # fill the set up to this many with prompts that vary outside the rule
# max_size = 20000                # the set has no more prompts than this
hard_reserve = 0.05               # share of the set given to prompts that were never solved
retest = 0.1                      # chance that a dropped prompt is marked for another test
cap_quantile = 0.9                # length caps let this share of the rollouts of a domain finish
# trainer_window = 8192           # tokens of prompt and response that the trainer takes; prompts that leave
#                                 # less than their domain's cap are dropped
suspect_posterior = 0.97          # how sure an answer must be a policy's favourite to doubt the reference

[selection.quotas]  # domain -> the largest share of the set that it may have
# "openai/gsm8k" = 0.5

[prepare]  # `curriculum prepare`: what it looks for in a raw pool, and what it holds back
against = []                      # pools whose prompts, and near duplicates of them, are left out
evaluations = []                  # evaluation sets whose prompts must not be in the set
# evaluation_key = "question"     # column of the prompts of both, where it is none of the usual ones
near_duplicates = 0.8             # least similarity of near duplicates; 0.0 looks for none
check_references = true           # have every verifier judge its own reference
# solution_key = "solution"       # column of a worked solution or a program, which must be accepted too
# max_prompt_tokens = 2048        # longer prompts are left out; the tokenizer is that of --ckpt or this one:
# tokenizer = "models/base"       # folder of a tokenizer
sentinel = 0.02                   # share of the clean prompts to hold out; from 1 on, a number of them
sentinel_apart = 0.5              # no prompt of the set is as similar as this to one that is held out
seed = 0                          # order of the set, and choice of what is held out

[output]
dir = "curriculum-out"            # refreshes are published under refreshes/ here; LATEST names the newest
# url = "s3://bucket/sets"        # every published set is copied here, for trainers on other machines
layout = "same"                   # same (as the pool) or one of the layouts of a pool: schema of the shards
keep_text = true                  # keep the text of the rollouts; false saves room, and ends re-judging
shard_rows = 100000               # rows per shard, at most
"""


def write_template(path: Path, *, force: bool = False) -> Path:
    """Writes the commented file to `path` (or into it, when it is a folder) and returns where.

    Raises:
        UsageError: a file is there and `force` is not set, or the place cannot be written to.
    """
    target = path / FILE_NAME if path.is_dir() else path
    try:
        with target.open("w" if force else "x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except FileExistsError as error:
        raise UsageError(
            "the configuration is already there", where=str(target), do="--force replaces it"
        ) from error
    except OSError as error:
        raise UsageError(
            f"cannot write the configuration: {error.strerror}",
            where=str(target),
            do="choose a folder that exists and can be written to",
        ) from error
    return target
