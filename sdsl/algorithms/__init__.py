"""Mathematics that several components share; nothing here knows of a config, a store or a screen."""
