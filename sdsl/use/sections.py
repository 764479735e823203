"""What a stream without labels leaves to choose; the other sections belong to an evaluation."""

SECTIONS = ("labeler", "replay", "lookback", "learner", "stream.scaler")
