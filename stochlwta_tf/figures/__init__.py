"""Figures drawn from plain values; nothing here depends on runs."""
