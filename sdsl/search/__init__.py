"""How settings were chosen: one change at a time, on streams that decide nothing else."""
