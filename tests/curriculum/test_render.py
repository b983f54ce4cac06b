"""Prompts as the policy is shown them, with a real tokenizer."""

from __future__ import annotations

import json

import pytest

from curriculum.config import ChatConfig
from curriculum.errors import UsageError
from curriculum.render import Renderer, policy_window

TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    "<{{ m['role'] }}>{{ m['content'] }}{% endfor %}{% if think %}<think>{% endif %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
USER = [{"role": "user", "content": "1+1"}]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A tokenizer of single characters, with a template; its first token opens raw text."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    characters = ["<s>", "<unk>", *map(chr, range(32, 127)), "\n"]
    vocabulary = {character: i for i, character in enumerate(characters)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
    )
    folder = tmp_path_factory.mktemp("checkpoint")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>")
    fast.save_pretrained(folder / "raw")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder / "chat")
    return folder


def test_the_checkpoints_own_template_is_used(checkpoint) -> None:
    renderer = Renderer(checkpoint / "chat", ChatConfig())
    assert renderer.text(USER) == "<user>1+1<assistant>"


def test_system_prompt_and_template_options_come_from_the_configuration(checkpoint) -> None:
    chat = ChatConfig(system_prompt="Be brief.", template_options={"think": True})
    assert Renderer(checkpoint / "chat", chat).text(USER) == "<system>Be brief.<user>1+1<think><assistant>"


def test_a_prompt_with_a_system_message_of_its_own_keeps_it(checkpoint) -> None:
    renderer = Renderer(checkpoint / "chat", ChatConfig(system_prompt="Be brief."))
    own = [{"role": "system", "content": "Be long."}, *USER]
    assert renderer.text(own).startswith("<system>Be long.<user>")


def test_without_a_template_the_raw_text_is_sent_with_the_tokenizers_special_tokens(checkpoint) -> None:
    renderer = Renderer(checkpoint / "raw", ChatConfig())
    assert renderer.text(USER) == "1+1"
    assert renderer.render([USER]).tokens(0).tolist() == [0, *(ord(c) - 30 for c in "1+1")]


def test_token_ids_are_those_of_the_text_and_nothing_is_added(checkpoint) -> None:
    renderer = Renderer(checkpoint / "chat", ChatConfig())
    longer = [{"role": "user", "content": "12345"}]
    rendered = renderer.render([USER, longer])
    assert rendered.lengths.tolist() == [len(renderer.text(prompt)) for prompt in (USER, longer)]
    assert rendered.tokens(0).tolist() == [ord(c) - 30 for c in renderer.text(USER)]


def test_no_prompts_are_no_tokens(checkpoint) -> None:
    assert Renderer(checkpoint / "chat", ChatConfig()).render([]).lengths.tolist() == []


def test_a_prompt_the_template_refuses_is_an_error_with_a_remedy(checkpoint) -> None:
    with pytest.raises(UsageError, match="refuses a prompt") as caught:
        Renderer(checkpoint / "chat", ChatConfig()).render([[{"role": "tool", "content": "x"}]])
    assert "no tools" in caught.value.where


def test_a_folder_without_a_tokenizer_is_an_error_with_a_remedy(tmp_path) -> None:
    with pytest.raises(UsageError, match="tokenizer cannot be loaded"):
        Renderer(tmp_path, ChatConfig())


@pytest.mark.parametrize(
    ("config", "options", "window"),
    [
        ({"max_position_embeddings": 512}, {}, 512),
        ({"max_position_embeddings": 512}, {"max_model_len": 128}, 128),
        ({"max_position_embeddings": 512}, {"max_model_len": -1}, 512),
        ({"text_config": {"max_position_embeddings": 64}}, {}, 64),
    ],
)
def test_the_window(tmp_path, config, options, window) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert policy_window(tmp_path, options) == window


def test_a_window_that_is_no_number_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="max_model_len is '8k'"):
        policy_window(tmp_path, {"max_model_len": "8k"})


def test_an_unknown_window_is_asked_for(tmp_path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UsageError, match="how long its window is"):
        policy_window(tmp_path, {})
