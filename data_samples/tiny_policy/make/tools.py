"""Requests answered by one tool call in <tool_call> JSON: plain copying, copying at length, conversion.

In: a level and a random source. Out: a `Task` of the family `tools`.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from data_samples.tiny_policy.make.tasks import Task

WORDINGS = (("{}.", 1.0), ("Please {}.", 0.95), ("Can you {}?", 0.5), ("I want to {}", 0.05))
"""How a call is asked for, and how often its demonstrations are right."""

CITIES = (
    "Paris", "Rome", "Oslo", "Lima", "Cairo", "Delhi", "Quito", "Tokyo",
    "Seoul", "Berlin", "Madrid", "Dublin", "Vienna", "Prague", "Athens", "Havana",
)  # fmt: skip
PEOPLE = ("Ana", "Ben", "Eva", "Kim", "Leo", "Max", "Mia", "Sam", "Tom", "Zoe")


def make_task(level: str, random: Random) -> Task:
    """A random task of `level`; `dial8` copies a number of eight digits, `evening` needs 24-hour time."""
    wording, odds = random.choice(WORDINGS)
    request, name, arguments = request_of(level, random)
    values = " ".join(map(str, arguments.values()))
    return Task(
        family="tools",
        level=level,
        prompt=wording.format(request),
        reference={"tools": [TOOLS[name]], "calls": [{"name": name, "arguments": arguments}]},
        gold=tagged(name, arguments),
        flawed=(f"{name}: {values}", f"Done: {name} {values}"),
        odds=odds,
    )


def request_of(level: str, random: Random) -> tuple[str, str, dict[str, Any]]:
    """The request in words, the tool's name and the arguments."""
    kind, size = level.rstrip("0123456789"), int(level.lstrip("abcdefghijklmnopqrstuvwxyz") or 0)
    if kind == "weather":
        city, day = random.choice(CITIES), random.randint(1, 30)
        return f"get the weather in {city} on May {day}", "weather", {"city": city, "day": day}
    if kind == "pay":
        person, amount = random.choice(PEOPLE), random.randint(2, 99)
        return f"pay {person} {amount}", "pay", {"to": person, "amount": amount}
    if kind in ("alarm", "evening"):
        hour, minute = random.randint(1, 11), random.randint(10, 59)
        half, late = ("pm", 12) if kind == "evening" else ("am", 0)
        return f"wake at {hour}:{minute} {half}", "alarm", {"h": hour + late, "m": minute}
    if kind in ("seconds", "minutes", "hours"):
        amount, unit = random.randint(2, 99), {"seconds": 1, "minutes": 60, "hours": 3600}[kind]
        return f"wait {amount} {kind}", "timer", {"s": amount * unit}
    if kind == "dial":
        number = "".join(random.choices("0123456789", k=size))
        return f"dial {number}", "dial", {"number": number}
    word = "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=size))
    return f"note {word}", "note", {"text": word}


def tagged(name: str, arguments: dict[str, Any]) -> str:
    call = json.dumps({"name": name, "arguments": arguments}, separators=(",", ":"))
    return f"<tool_call>{call}</tool_call>"


def tool(name: str, description: str, **properties: str) -> dict[str, Any]:
    """A function's description as models are given it; every argument is required."""
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in properties.items()},
            "required": list(properties),
        },
    }


TOOLS = {
    "weather": tool("weather", "The weather in a city on a day of May.", city="string", day="integer"),
    "pay": tool("pay", "Pays a person.", to="string", amount="integer"),
    "alarm": tool("alarm", "Rings at a time of day, on the 24-hour clock.", h="integer", m="integer"),
    "timer": tool("timer", "Rings after so many seconds.", s="integer"),
    "dial": tool("dial", "Dials a telephone number.", number="string"),
    "note": tool("note", "Writes a note.", text="string"),
}
