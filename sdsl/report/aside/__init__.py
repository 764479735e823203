"""Tables beside the paper's: in context, and the archive. No claim of the paper rests on them."""
