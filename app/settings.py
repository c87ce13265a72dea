"""Everything that can be set, with its bounds, its default and a sentence. Where values come from is `sources.py`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import ByteSize, Field, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from ingest.policy import Policy
from ingest.types import Limits

from .settings_file import read_file

PREFIX = "QUIRE_"
FILE = "quire.toml"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _size(default: int, description: str) -> Any:
    return Field(ByteSize(default), ge=1, description=description + " A number of bytes, or with a unit: 512MiB, 2GiB.")


class TomlFile(PydanticBaseSettingsSource):
    """The TOML file, found through what the command line and the environment said of `config` and `home`."""

    def __call__(self) -> dict[str, Any]:
        said = self.current_state
        path = Path(said["config"]) if said.get("config") else Path(said.get("home") or "~/.quire") / FILE
        return read_file(path.expanduser(), bool(said.get("config")), Settings.model_fields)

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError  # the base class asks for it; the whole file is read at once above


class Settings(BaseSettings):
    """Everything that can be set, read once. Nothing else in the house reads the environment."""

    # What reads the file; `quire config check` reads on where there is a fault.
    from_file: ClassVar[type[TomlFile]] = TomlFile
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    home: Path = Field(Path("~/.quire"), description="The folder that holds everything: catalogue, caches, images, index, uploads.")
    config: Path | None = Field(None, description="The settings file (TOML). Unset: quire.toml in the home, if there is one.")

    model: str = Field(
        "reader", description='The model: "reader" (embedded), "smollm2" (text), or a local directory in the Hugging Face layout.'
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="The number type of the model; auto: as its weights are."
    )
    unchecked: bool = Field(
        False, description="Use a model that has no verdict yet (`quire doctor` makes one). A refused one stays refused."
    )
    embedder: str = Field("minilm", description='The embedder: "minilm", "bge-m3", or the folder of one of the two.')
    style: str | None = Field(None, description="The page style. Unset: the one that the model's card names.")
    low: int = Field(72, ge=36, le=600, description="DPI of pages that are context (72 in QV-PIC).")
    high: int = Field(120, ge=36, le=600, description="DPI of pages that carry the relevance (120 in QV-PIC).")
    batch: int = Field(8, ge=1, le=256, description="Page images in one forward of the model while compiling.")
    ram_bytes: ByteSize = Field(
        ByteSize(512 * 1024**2), ge=0, description="Memory for page caches and patches that were read lately. 0: none; 512MiB, 2GiB."
    )

    disk_bytes: ByteSize | None = Field(
        None,
        ge=1,
        description="What caches, images and patches may take on the disk; above it the caches that were used least lately go, and are "
        "compiled again when a question needs them. Unset: all of the disk. Such as 200GiB.",
    )
    pdf_engine: Literal["pymupdf", "pypdfium2"] = Field(
        "pymupdf", description="What reads PDF: pymupdf (AGPL, the better reader) or pypdfium2 (permissively licensed)."
    )
    ocr: Literal["auto", "off"] = Field(
        "auto", description="Reading the text of pictures and scans, for retrieval. auto: where an engine is installed (extra ocr)."
    )

    patch_policy: Literal["adjacent", "hot", "off"] = Field(
        "adjacent",
        description="Patches formed at ingest (Kamera): adjacent: each page behind the one before it; hot: also sets retrieved together often; off.",
    )
    patch_rank: int = Field(
        32, ge=1, le=4096, description="Rank of a patch (32 in Kamera); a page that cannot have as much gets the most it can have."
    )
    patch_missing: int = Field(
        1,
        ge=0,
        le=64,
        description="Pages in front of a page that its patch may not know of (Kamera, Appendix D: from 2 on it may do harm).",
    )
    hot_after: int = Field(
        9,
        ge=1,
        le=1_000_000,
        description="With patch_policy = hot: times that pages are retrieved together before a patch is formed for them.",
    )

    conversations: int = Field(8, ge=1, le=10_000, description="Conversations kept at a time; the least recently used one goes.")
    window_bytes: ByteSize = _size(
        1024**3, "Page KV that one conversation may keep placed. With what it is placed from, it takes up to two and a half times that."
    )
    window_pages: int | None = Field(None, ge=1, le=1024, description="Pages that a conversation keeps. Unset: twice top_k.")

    search: Literal["hybrid", "dense"] = Field(
        "hybrid", description="How chunks are found: hybrid, by meaning and by words in turn; dense, by meaning alone, as in QV-PIC."
    )
    top_k: int | None = Field(None, ge=1, le=64, description="Chunks that a question gathers. Unset: as the model's card says.")
    alpha: float = Field(0.65, ge=0, le=1, description="Share of the positive relevance that is read at the high DPI (alpha in QV-PIC).")
    cap: int = Field(4, ge=0, le=64, description="At most so many chunks are read at the high DPI (B in QV-PIC).")
    max_tokens: int | None = Field(None, ge=1, le=4096, description="Tokens that an answer may have. Unset: as the model's card says.")

    host: str = Field(
        "127.0.0.1", description="The address to serve at. Beyond this machine only where there is an API key (`quire key create`)."
    )
    port: int = Field(8765, ge=0, le=65535, description="The port to serve at; 0: any free one.")
    queue: int = Field(8, ge=0, le=1000, description="Questions that may wait for the model; the next one is told to come back (503).")
    upload_queue: int = Field(1000, ge=1, le=1_000_000, description="Uploads that may wait for ingest; the next one is refused (503).")
    connections: int = Field(512, ge=8, le=65_536, description="Connections at a time; the next one is told to come back (503).")
    body_seconds: float = Field(
        30.0,
        gt=0,
        le=3600,
        description="Seconds that a request may be silent while its head or body is on its way; then it is cut off (408).",
    )
    rate: int = Field(
        600, ge=0, le=1_000_000, description="Requests a minute of one key, or of one address where there are no keys. 0: any."
    )
    ask_rate: int = Field(
        120, ge=0, le=1_000_000, description="Of these, questions (ask, chat) a minute: each may take the model for seconds. 0: any."
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Other sites whose pages may call the interface, each with scheme and port, separated by commas: https://wiki.example.",
    )
    grace: float = Field(
        15.0, ge=0, le=600, description="Seconds that open answers have to end when the server is told to stop; then they are handed back."
    )
    log_format: Literal["text", "json"] = Field("text", description="What a line of the log is: text for people, or one JSON object.")
    otel: str | None = Field(
        None, description="Where traces go (OTLP over HTTP, http://localhost:4318/v1/traces); needs the extra otel. Unset: nowhere."
    )
    question_chars: int = Field(4000, ge=1, le=1_000_000, description="Characters that a question may have.")
    request_files: int = Field(100, ge=1, le=10_000, description="Files in one upload.")

    file_bytes: ByteSize = _size(Limits.file_bytes, "Bytes of one file.")
    text_chars: int = Field(Limits.text_chars, ge=1, description="Characters of text that a file may hold.")
    source_pages: int = Field(Limits.source_pages, ge=1, description="Printed pages that a file may have.")
    rendered_pages: int = Field(Limits.rendered_pages, ge=1, description="Pages that a file may become when it is laid out.")
    unpacked_bytes: ByteSize = _size(Limits.unpacked_bytes, "What a container (DOCX, XLSX, EPUB, zip) may unpack to.")
    parse_seconds: float = Field(Limits.parse_seconds, gt=0, le=86_400, description="Seconds that a file's parser may take.")
    parse_memory: ByteSize = _size(Limits.parse_memory, "Memory that a file's parser may take.")
    image_pixels: int = Field(Limits.image_pixels, ge=1, description="Pixels of one picture, or of one scanned page.")
    archive_members: int = Field(Limits.archive_members, ge=1, description="Files that an archive (zip) may hold.")
    # Behind file_bytes, for it follows that one: whoever raises the one limit and not the other would still be refused.
    upload_bytes: ByteSize = Field(
        default_factory=lambda data: data.get("file_bytes", ByteSize(Limits.file_bytes)),
        ge=1,
        description="Bytes of one upload, all its files together. Unset: as file_bytes.",
    )

    @field_validator("home", "config")
    @classmethod
    def _expand(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path is not None else None

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _origins(cls, said: Any) -> Any:
        """Words of a shell or a variable, or a list of the file; each must be an origin, for a browser compares it letter by letter."""
        found = [word.strip().rstrip("/") for word in (said.split(",") if isinstance(said, str) else said) if str(word).strip()]
        for word in found:
            parts = urlsplit(word)
            if parts.scheme not in ("http", "https") or not parts.hostname or word != f"{parts.scheme}://{parts.netloc}" or "*" in word:
                raise ValueError(f"{word!r} is no origin: write scheme, host and port alone (https://wiki.example); there is no wildcard")
        return tuple(word.lower() for word in found)

    @model_validator(mode="after")
    def _ordered(self) -> Settings:
        if self.low > self.high:
            raise ValueError(f"low ({self.low}) is above high ({self.high})")
        return self

    @property
    def file(self) -> Path:
        """Where the settings file is, or would be."""
        return self.config or self.home / FILE

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK or self.host.startswith("127.")

    def limits(self) -> Limits:
        """What a file may cost, as ingest wants it."""
        return Limits(**{field.name: getattr(self, field.name) for field in fields(Limits)})

    def policy(self) -> Policy:
        """Which patches are formed, as ingest wants it."""
        return Policy(self.patch_policy, self.patch_rank, self.hot_after)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, cls.from_file(settings_cls)
