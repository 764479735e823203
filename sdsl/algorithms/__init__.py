"""Mathematics that several components share; it knows of no config, store or screen."""
