"""The REST API (docs/contract/design.md#8): parse, call one service or selector, render."""
