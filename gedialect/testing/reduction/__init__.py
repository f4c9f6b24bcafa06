"""Makes a failing model small: what ``ge-reduce`` does.

``driver`` tries edits and keeps those after which the model still fails the same way, ``onnx_model`` and ``ge_module``
have the edits, ``interest`` the ways to fail.
"""
