"""The static trade-off of a stream: what any classifier of x alone can have in Acc_T and Acc_t."""
