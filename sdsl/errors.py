"""The exceptions a user is meant to see: a message that says what was wrong and what to do."""


class UserError(Exception):
    """Printed as one message, without a traceback, with exit status 2."""

    status = 2


class ComponentError(UserError):
    """A mistake in a component's code: this run fails, others go on; exit status 1."""

    status = 1
