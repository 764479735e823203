"""Pieces of messages that quote a file or another library, cut to a length one can read."""


def shown(value: str) -> str:
    """A value of a file: a stray quote may have swallowed half of it."""
    return repr(value if len(value) <= 40 else value[:37] + "...")


def one_line(error: Exception) -> str:
    """What a library said, on one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:197] + "..."
