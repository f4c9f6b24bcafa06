"""Loader, session and simulator: everything that works from the bytes alone."""
