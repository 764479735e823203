"""From YAML and the command line to checked, typed objects."""
