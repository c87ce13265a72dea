"""What can go wrong with KV caches and the models they come from.

CacheError
├── ModelError
│   ├── ModelNotFound       no model directory there, or files are missing
│   ├── UnsupportedFamily   no adapter for this architecture
│   ├── TapMismatch         the self-check failed: what the hook reads is not the key before rotation
│   └── TemplateError       the chat template does not give one prefix and one unit an image
├── IdentityMismatch        the store was made by another model, style, template, ... (the message names the field)
│   └── StoreTooNew         the store was written by a newer version
├── CacheMiss               no cache for that page at that DPI
├── CorruptCache            a cache file whose bytes are not those that were written
├── StoreUnwritable         the store's folder cannot be written
├── BadVerdict              a verdict's file that cannot be read, or that speaks of another model
├── ContextTooLong          more positions than the model has
├── PatchError
│   ├── PatchMismatch       a patch of another page, shape or model
│   ├── RankTooHigh         more components than the page's rows or its width can have
│   └── CorruptPatch        a patch file whose bytes are not those that were written
└── WindowError
    ├── WindowTooSmall      one page alone is larger than the window's budget
    ├── WindowClosed        the window was closed; what it held is gone
    └── NotInWindow         no such page stands in the window, or was ever evicted from it
"""


class CacheError(Exception):
    """Any failure of the cache compiler; the message names the key or field and both values."""


class ModelError(CacheError):
    pass


class ModelNotFound(ModelError):
    pass


class UnsupportedFamily(ModelError):
    pass


class TapMismatch(ModelError):
    pass


class TemplateError(ModelError):
    pass


class IdentityMismatch(CacheError):
    """`field`, `stored` and `loaded` name what differs."""

    def __init__(self, message: str, field: str = "", stored: str = "", loaded: str = "") -> None:
        super().__init__(message)
        self.field, self.stored, self.loaded = field, stored, loaded


class StoreTooNew(IdentityMismatch):
    pass


class CacheMiss(CacheError):
    """`key` names the page image."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class CorruptCache(CacheError):
    """`key` names the page image, so that it can be recompiled."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class StoreUnwritable(CacheError):
    pass


class BadVerdict(CacheError):
    pass


class ContextTooLong(CacheError):
    pass


class PatchError(CacheError):
    """`key` names the page image that the patch is of."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class PatchMismatch(PatchError):
    pass


class RankTooHigh(PatchError):
    pass


class CorruptPatch(PatchError):
    pass


class WindowError(CacheError):
    pass


class WindowTooSmall(WindowError):
    pass


class WindowClosed(WindowError):
    pass


class NotInWindow(WindowError):
    pass
