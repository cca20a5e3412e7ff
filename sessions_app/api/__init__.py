"""The REST API (design 8): parse, call one service or selector, render."""
