"""Repaired sessions in the form their owner can take: patch, copy, document."""
