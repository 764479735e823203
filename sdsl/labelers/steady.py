"""Steady: a fixed vote labels the segment unless the evidence says that a tracker knows better.

Decided once, from gold: the tracker's accuracy on left-out gold rows is at least `apart`, and at
most `worse` below the vote's. Decided at every segment: in the first one the tracker contradicts the vote on
at most `first` of the rows; two twins of it, each fitted to one half of gold, contradict each other on at
most `twins`; and no segment so far was a jump: more than `surprise` nats a row explained after EM
than foreseen, while the tracker's contradiction of the vote grew by more than `growth`.
"""
