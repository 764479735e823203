"""Finished runs, read from a store or from an exported folder."""
