"""Configurations: which keys there are, what is allowed in them, and the suites that lay out tables."""
