"""Repairing: a session on the bench, looked at, written, taken back (docs/contract/design.md#5).

``bench`` holds a session with all that a repair needs; ``apply`` and ``undo`` write, ``destination`` says where to,
``history`` what is kept of it; ``files`` does the same to bare files, ``recover`` settles what a crash left.
"""
