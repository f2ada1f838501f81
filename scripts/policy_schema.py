"""Writes schemas/policy.schema.json: what may stand in a policy.yaml, for editors.

python scripts/policy_schema.py            write the file
python scripts/policy_schema.py --check    fail if the file is not as it would be written
"""

from __future__ import annotations

import json

from generated_page import ROOT, write_or_check

from endstop.coding.policy_schema import policy_schema

FILE = ROOT / "schemas" / "policy.schema.json"


def main() -> None:
    FILE.parent.mkdir(exist_ok=True)
    write_or_check(FILE, json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
