"""What can go wrong in measuring. Each is a wrong request to the shell, by the table in `app.errors`.

BadRequest
└── EvalError
    ├── PlotsUnavailable   matplotlib is not installed
    └── OtherRun           the folder holds a half-done run with other settings
"""

from __future__ import annotations

from app.errors import BadRequest


class EvalError(BadRequest):
    """A measurement that cannot be made as asked; the message says what to do instead."""


class PlotsUnavailable(EvalError):
    pass


class OtherRun(EvalError):
    pass
