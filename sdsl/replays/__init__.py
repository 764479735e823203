"""Replay: one rule per file, named like its YAML in conf/replay/."""
