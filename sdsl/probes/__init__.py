"""Probes: one per file, named like its YAML in conf/probe/."""
