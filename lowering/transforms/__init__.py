"""Passes of the machine half; one pass, one file."""
