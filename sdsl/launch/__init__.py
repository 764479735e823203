"""From a command line to recorded runs: the job, the screen as a Hydra callback, a launcher."""
