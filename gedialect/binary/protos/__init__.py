"""Protobuf messages of AIR and OM files: ``ge`` (graphs), ``domi`` (tasks), ``attrs`` (attribute values)."""
