"""A laid-out document goes in; there is room for its caches and patches when this returns, or NoRoom says what is missing, before anything is
compiled or lost."""

from __future__ import annotations

import shutil
from collections.abc import Collection

from cache_compiler.placed import row_bytes
from renderer.types import image_key

from .errors import NoRoom
from .evict import evict, look
from .leaves import Leaves
from .patching import pages_of, policy_keys
from .trial import patch_bytes
from .types import Evicted
from .workshop import Workshop

# Bytes that the disk keeps free of us: the catalogue must always be able to note a deletion.
SPARE = 16 * 1024 * 1024
# What a file has besides its tensors, rounded up.
_HEADER = 4096


def needed(leaves: Leaves, workshop: Workshop) -> int:
    """Bytes of the caches and patches of a document that are not there yet; its images are on the disk already."""
    rows = {image_key(page.key, dpi): count for page in leaves.rows() for dpi, count in page.rows.items()}
    caches = sum(count * row_bytes(workshop.backbone) + _HEADER for key, count in rows.items() if not workshop.store.has(key))
    wanted = [key for key in policy_keys(workshop, pages_of(leaves.chunks)) if not workshop.store.patches.has(key)]
    return caches + sum(patch_bytes(workshop, rows[key.page]) + _HEADER for key in wanted)


def make_room(workshop: Workshop, more: int, planned: Collection[str] = ()) -> Evicted:
    """See to it that `more` bytes can be written, within `disk_bytes` if that is set and on the disk in any case.

    Raises NoRoom, with both figures and before anything went, where that cannot be.
    """
    limit, evicted = workshop.disk_bytes, Evicted()
    if limit is not None:
        held, items = look(workshop, planned)
        staying = held - sum(item.bytes for item in items)
        if staying + more > limit:
            raise NoRoom(
                f"it needs {more:,} bytes of caches and patches beside {staying:,} that stay (images, pinned pages, pages on their way in), "
                f"the limit is {limit:,} (disk_bytes): raise it, unpin a collection, or delete documents"
            )
        if held + more > limit:
            evicted = evict(workshop, limit - more, planned)
    free = shutil.disk_usage(workshop.home.root).free - SPARE
    if more > free:
        raise NoRoom(
            f"it needs {more:,} bytes of caches and patches, the disk has {max(free, 0):,} to spare: free some space, "
            "or set disk_bytes so that older caches go"
        )
    return evicted
