"""Two rollouts of each prompt by OpenRLHF's own code: its data set, its executor, its call of the reward.

In: the train folder of a refresh, a tokenizer, a file with `reward_func`. Out: JSON on standard output: what
the data set has, and the rewards. Stands in for vLLM only. Run with OpenRLHF on PYTHONPATH.
"""

import asyncio
import json
import sys
from types import SimpleNamespace

from openrlhf.datasets.prompts_dataset import PromptDataset
from openrlhf.datasets.utils import blending_datasets
from openrlhf.utils.agent import SingleTurnAgentExecutor


class Engine:
    """Responds with the token ids that it is given."""

    def __init__(self, token_ids):
        self.token_ids = token_ids

    async def generate(self, *_args, **_more):
        output = SimpleNamespace(token_ids=self.token_ids, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


async def main(folder, tokenizer_path, reward_file):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_path)
    data = SimpleNamespace(input_key="input", label_key="prompt_id", apply_chat_template=False)
    strategy = SimpleNamespace(args=SimpleNamespace(data=data), is_rank_0=lambda: True, print=lambda *_: None)
    rows = blending_datasets(folder, None, strategy, dataset_split="train")
    prompts = PromptDataset(rows, tokenizer, strategy)
    executor = SingleTurnAgentExecutor(reward_file)
    parameters = SimpleNamespace(max_tokens=8, logprobs=None)
    engines = [Engine(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in (" 3", " 4")]
    calls = [
        executor.execute(prompt, label, parameters, 256, tokenizer, engine)
        for _, prompt, label, _ in (prompts[row] for row in range(4))
        for engine in engines
    ]
    outputs = await asyncio.gather(*calls)
    print(json.dumps({"labels": prompts.labels, "rewards": [one["scores"] for one in outputs]}))


asyncio.run(main(*sys.argv[1:]))
