"""What can go wrong while a file becomes a document. Every message names the file, the place where one is known, and the cure.

IngestError
├── LoadError
│   ├── UnsupportedType    no parser for this kind of file
│   ├── EmptyFile          zero bytes
│   ├── NoText             nothing to read: white space only, or pages that are pictures
│   ├── PasswordNeeded     an encrypted file
│   ├── DamagedFile        the parser could not read it
│   ├── TooLarge           over one of `Limits`
│   └── ParserStopped      the parser ran out of time or memory, or died
├── BadName                a name that steps out of its folder, or has no letters
├── HomeBusy               another process holds the writer's lock
├── QueueFull              as many uploads wait as may wait; come back in `retry_after` seconds
├── NoRoom                 the disk, or `disk_bytes`, has no room for what a document needs
├── BadBackup              a folder that is no whole backup, or a place where none can be made
├── HomeNotEmpty           a backup is only restored into a folder with nothing in it
└── Cancelled              somebody asked for the run to stop
"""


class IngestError(Exception):
    """Any failure of ingest. `place` says where in the file, where that is known."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


class LoadError(IngestError):
    pass


class UnsupportedType(LoadError):
    pass


class EmptyFile(LoadError):
    pass


class NoText(LoadError):
    pass


class PasswordNeeded(LoadError):
    pass


class DamagedFile(LoadError):
    pass


class TooLarge(LoadError):
    pass


class ParserStopped(LoadError):
    pass


class BadName(IngestError):
    pass


class Cancelled(IngestError):
    pass


class HomeBusy(IngestError):
    pass


class QueueFull(IngestError):
    """`retry_after`: seconds after which it makes sense to upload again."""

    def __init__(self, message: str, retry_after: float = 10.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NoRoom(IngestError):
    pass


class BadBackup(IngestError):
    pass


class HomeNotEmpty(IngestError):
    pass
