"""Use on a stream without labels: what the class and the command need beside the engine."""
