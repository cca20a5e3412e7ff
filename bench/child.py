"""Runs one probe on the code that ``PYTHONPATH`` names, which may be another working copy: this package is the one that
lies beside this file all the same."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path


def main() -> None:
    here = Path(__file__).parent
    sys.path.remove(str(here))
    spec = importlib.util.spec_from_file_location("bench", here / "__init__.py", submodule_search_locations=[str(here)])
    assert spec is not None
    sys.modules["bench"] = importlib.util.module_from_spec(spec)
    found = importlib.import_module(f"bench.{sys.argv[1]}").measure(**json.loads(sys.argv[2]))
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
