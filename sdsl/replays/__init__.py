"""Replay: one rule a file, named like its YAML in conf/replay/."""
