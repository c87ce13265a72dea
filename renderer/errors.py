"""What can go wrong while text becomes a page.

RendererError
├── UnknownStyle      no preset of that name
├── FontProblem       the font file is missing, is another file than the style names, or the text shaper is not installed
└── PageTooLarge      more pixels than the limit allows
"""


class RendererError(Exception):
    """Any failure of the renderer; the message names the value and the cure."""


class UnknownStyle(RendererError):
    pass


class FontProblem(RendererError):
    pass


class PageTooLarge(RendererError):
    pass
