"""What can be wrong with a LongBench run; every error's parent has a row in `app.errors`, so each ends in one sentence and an exit code.

BadRequest (app)
└── LongBenchError
    ├── UnknownTask      a name that is none of the six
    ├── UnknownArm       a name that no row of `arms.MAKERS` takes
    ├── NoData           no file for a task, none that can be read, or parquet without pyarrow
    ├── BadRecord        a row that is not LongBench's: names the file, the line and the field
    ├── EmptyContext     a record without a word of context: its samples score 0
    ├── ContextCut       a prompt so short that truncation reached the question: its samples score 0
    └── BadResults       a results file of other settings or other data, or damaged in the middle
Busy (app)
└── ResultsBusy          another run is writing there
StoreUnwritable (cache_compiler)
└── ResultsUnwritable    no permission to write, or not a folder
AppError (app)
└── ModelStopped         several samples in a row failed by what is no fault of theirs
"""

from __future__ import annotations

from app.errors import AppError, BadRequest, Busy
from cache_compiler.errors import StoreUnwritable


class LongBenchError(BadRequest):
    """Wrong use: a file, a name or a setting that a person can mend."""


class UnknownTask(LongBenchError):
    pass


class UnknownArm(LongBenchError):
    pass


class NoData(LongBenchError):
    pass


class BadRecord(LongBenchError):
    pass


class EmptyContext(LongBenchError):
    pass


class ContextCut(LongBenchError):
    pass


class BadResults(LongBenchError):
    pass


class ResultsBusy(Busy):
    pass


class ResultsUnwritable(StoreUnwritable):
    pass


class ModelStopped(AppError):
    pass
