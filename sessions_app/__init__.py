"""Suture: find, explain and repair the stored sessions of AI coding agents."""

__version__ = "0.1.0"
