"""What the paper says, and the statistics and tests that judge it."""
