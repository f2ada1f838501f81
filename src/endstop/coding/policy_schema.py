"""The JSON schema of ``policy.yaml``, so that editors can help to write one."""

from __future__ import annotations

from typing import Any

from endstop.coding.policy import DEFAULT_POLICY
from endstop.coding.policy_file import plain_values
from endstop.coding.policy_keys import POLICY_KEYS, POLICY_SECTIONS


def policy_schema() -> dict[str, Any]:
    """The schema. It knows the bounds of each value, not which of them contradict each other."""
    sections: dict[str, dict[str, Any]] = {
        name: {
            "type": ["object", "null"],
            "description": words,
            "additionalProperties": False,
            "properties": {},
        }
        for name, words in POLICY_SECTIONS.items()
    }
    defaults = plain_values(DEFAULT_POLICY)
    for name, key in POLICY_KEYS.items():
        described = {"description": key.meaning, "default": defaults[name], **key.kind.schema()}
        sections[key.section]["properties"][key.own_name] = described
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The policy of coding sessions",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": sections,
    }
