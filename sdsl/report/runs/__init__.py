"""Finished runs, read from a store or an exported folder, under the names that a reader knows."""
