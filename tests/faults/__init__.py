"""Faults of machines and people: what a run does when it is killed, and when its disk is full, damaged or read-only."""
