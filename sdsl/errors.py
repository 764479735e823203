"""The one exception a user is meant to see: a message that says what was wrong and what to do."""


class UserError(Exception):
    """Printed as one message, without a traceback, with exit status 2."""
