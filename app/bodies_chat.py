"""What stands in the bodies of chat completions and models, as clients of the OpenAI interface know them.

A field that is known and can be honoured is honoured; one that asks for what Quire does not do may only say that it does not ask for it;
one that changes no answer is passed over, and the reply's `X-Quire-Ignored` names it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, SerializerFunctionWrapHandler, Tag, model_serializer

from .bodies import TOP_K, Box, Text, Wire
from .types import MOST_TOKENS

# -- what comes in ---------------------------------------------------------------------------------------------------------


def _text_alone(kind: Any) -> Any:
    if kind != "text":
        raise ValueError("only text is read here: upload a picture as a document, and ask about it")
    return kind


class TextPart(BaseModel):
    type: Annotated[Literal["text"], BeforeValidator(_text_alone)]
    text: Text


def _shape(content: Any) -> str:
    return "parts" if isinstance(content, list) else "text"


Content = Annotated[Annotated[Text, Tag("text")] | Annotated[list[TextPart], Tag("parts")], Discriminator(_shape)]


class Message(BaseModel):
    """One turn. What else a client keeps in it (names, citations of an earlier answer) is passed over."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Content | None = None

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content) if isinstance(self.content, list) else self.content or ""


class StreamOptions(BaseModel):
    include_usage: bool | None = None


class TextFormat(BaseModel):
    type: Literal["text"]


_NOTHING = Field(None, max_length=0)


class ChatRequest(BaseModel):
    """`model` is `<model>` or `<model>/<collection>`. The last user message is the question, earlier turns its history. `collection`,
    `top_k`, `alpha` and `cap` are Quire's own (a client's `extra_body`). Fields that Quire does not know are passed over, and the reply's
    `X-Quire-Ignored` names them."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[Text, Field(max_length=512, examples=["reader/default"])]
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]
    collection: Annotated[Text, Field(max_length=64)] | None = None
    top_k: int | None = Field(None, ge=1, le=TOP_K)
    alpha: float | None = Field(None, ge=0, le=1)
    cap: int | None = Field(None, ge=0, le=TOP_K)
    max_tokens: int | None = Field(None, ge=1, description=f"More than {MOST_TOKENS} is as {MOST_TOKENS}.")
    max_completion_tokens: int | None = Field(None, ge=1, description="As `max_tokens`, and stronger.")
    temperature: float | None = Field(None, ge=0, le=5, description="Left out: 0, the likeliest token each time.")
    top_p: float | None = Field(None, ge=0, le=1, description="0: the likeliest token each time, as with `temperature` 0.")
    seed: int | None = Field(None, ge=-(2**63), le=2**63 - 1)
    stop: (
        Annotated[Text, Field(max_length=100)]
        | Annotated[list[Annotated[Text, Field(min_length=1, max_length=100)]], Field(max_length=4)]
        | None
    ) = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    # What Quire does not do.
    n: Literal[1] | None = None
    tools: list[Any] | None = _NOTHING
    functions: list[Any] | None = _NOTHING
    tool_choice: Literal["none", "auto"] | None = None
    function_call: Literal["none", "auto"] | None = None
    response_format: TextFormat | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None
    logit_bias: dict[str, Any] | None = _NOTHING
    presence_penalty: Annotated[float, Field(ge=0, le=0)] | None = None
    frequency_penalty: Annotated[float, Field(ge=0, le=0)] | None = None
    modalities: list[Literal["text"]] | None = None
    # What changes no answer.
    user: Any = None
    metadata: Any = None
    store: Any = None
    service_tier: Any = None
    safety_identifier: Any = None
    prompt_cache_key: Any = None
    prompt_cache_retention: Any = None
    parallel_tool_calls: Any = None
    reasoning_effort: Any = None
    verbosity: Any = None


PASSED_OVER = (
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "parallel_tool_calls",
    "reasoning_effort",
    "verbosity",
)

# -- what goes out ---------------------------------------------------------------------------------------------------------

Finished = Literal["stop", "length"]


class CitedLine(Wire):
    text: str
    box: Box


class Cited(Wire):
    """A page that the model read: `image` is the address of the very picture; the lines that speak to the answer, boxes in points."""

    document: str
    name: str
    page: str
    dpi: int
    image: str
    source_page: int | None
    lines: list[CitedLine]


class Usage(Wire):
    """`prompt_tokens`: rows of the context, and tokens of the question behind it."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Said(Wire):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    citations: list[Cited]


class Choice(Wire):
    index: Literal[0] = 0
    message: Said
    logprobs: None = None
    finish_reason: Finished


class ChatCompletion(Wire):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[Choice]
    usage: Usage


class Delta(Wire):
    """The first has the role, the last the citations, those between a piece of the text."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    citations: list[Cited] | None = None

    @model_serializer(mode="wrap")
    def _set(self, inner: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Clients put deltas together: what a delta does not say must not stand in it."""
        return {name: value for name, value in inner(self).items() if value is not None}


class ChunkChoice(Wire):
    index: Literal[0] = 0
    delta: Delta
    logprobs: None = None
    finish_reason: Finished | None = None


class Chunk(Wire):
    """One event of a stream. With `stream_options.include_usage` one more comes at the end, with `usage` and no choices."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChunkChoice]
    usage: Usage | None = None


class ModelCard(Wire):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["quire"] = "quire"


class ModelCards(Wire):
    object: Literal["list"] = "list"
    data: list[ModelCard]
