"""Readers of model files, one package per format."""
