"""From YAML and the command line to checked, typed objects: the only room that composes a config."""
