"""A question's name goes in; what QV-PIC claims there comes out, each claim with the test that these figures put it to."""

from __future__ import annotations

from .claims import Claim, alike, better, both, many_times_sooner, rises, sooner, unsteady
from .doubts import no_detail, nothing_lost, other_reader, reads_little
from .plans import DPIS

_Q1, _Q2, _Q3, _Q4 = (f"QV-PIC, Experiments, Q{number}" for number in (1, 2, 3, 4))
_FULL = ("image-full@72", "image-full@120")
_PICS = tuple(f"image-pic@{dpi}" for dpi in DPIS)
_FULLS = tuple(f"image-full@{dpi}" for dpi in DPIS)


def _settings(pic: str, full: str, what: str, key: str) -> tuple[Claim, ...]:
    """The claims of figure 3 and of figure 4, for one DPI or for text. `key` ends the names of the paper's figures."""
    void = (reads_little(full),)
    lost = (nothing_lost(full, f"{pic}:free"),)
    return (
        Claim(
            f"{what}: compiling behind the model's own template keeps more than compiling behind nothing.",
            _Q1,
            (f"template{key}", f"free{key}"),
            (pic, f"{pic}:free"),
            better(pic, f"{pic}:free"),
            void,
            lost,
        ),
        Claim(
            f"{what}: it is the template that helps, not any prefix of its length (four dummy tokens).",
            _Q1,
            (f"template{key}", f"dummy-4{key}"),
            (pic, f"{pic}:dummy-4"),
            better(pic, f"{pic}:dummy-4"),
            void,
            lost,
        ),
        Claim(
            f"{what}: the longer the dummy prefix, the less is kept (two tokens against sixteen).",
            _Q1,
            ("dummies",),
            (f"{pic}:dummy-2", f"{pic}:dummy-16"),
            better(f"{pic}:dummy-2", f"{pic}:dummy-16"),
            void,
        ),
    )


def _epic(dpi: int) -> Claim:
    free = f"image-pic@{dpi}:free"
    return Claim(
        f"Images at {dpi} DPI: computing a page's first two or four rows again brings next to nothing.",
        _Q1,
        ("epic-2", "epic-4", f"free@{dpi}"),
        (f"{free}+epic-2", f"{free}+epic-4", free),
        both(alike(f"{free}+epic-2", free), alike(f"{free}+epic-4", free)),
        (reads_little(f"image-full@{dpi}"),),
    )


CLAIMS: dict[str, tuple[Claim, ...]] = {
    "q1": (
        *_settings("image-pic@72", "image-full@72", "Images at 72 DPI", "@72"),
        *_settings("image-pic@120", "image-full@120", "Images at 120 DPI", "@120"),
        *_settings("text-pic", "text-full", "Text", "-text"),
        _epic(72),
        _epic(120),
        Claim(
            "Without the template, finer pages bring next to nothing.",
            _Q1,
            ("free@72", "free@120"),
            ("image-pic@72:free", "image-pic@120:free"),
            alike("image-pic@120:free", "image-pic@72:free"),
            (reads_little(*_FULL),),
        ),
        Claim(
            "Without the template, images lose against text.",
            "QV-PIC, figure 1; Experiments, Q1",
            ("gap-free", "free-text"),
            ("text-pic:free", "image-pic@72:free"),
            better("text-pic:free", "image-pic@72:free"),
            (other_reader, reads_little(*_FULL)),
        ),
        Claim(
            "With the template, images at 120 DPI are level with text.",
            _Q1,
            ("template@120", "template-text"),
            ("text-pic", "image-pic@120"),
            alike("text-pic", "image-pic@120"),
            (other_reader, reads_little("image-full@120", "text-full")),
        ),
    ),
    "q2": (
        Claim(
            "With the template, 120 DPI scores higher than 72.",
            _Q2,
            ("dpi-gain",),
            ("image-pic@72", "image-pic@120"),
            better("image-pic@120", "image-pic@72"),
            (reads_little(*_FULL),),
        ),
        Claim(
            "More DPI does not always mean a higher score: in some tasks it falls.",
            _Q2,
            ("dpi-unsteady",),
            (*_PICS, *_FULLS),
            unsteady(tuple(zip(_PICS, _FULLS, strict=True))),
            (reads_little(*_FULL),),
        ),
        Claim("The time to the first token grows with every step of DPI.", _Q2, ("dpi-time",), _PICS, rises(_PICS)),
        Claim(
            "At 120 DPI page caches answer about ten times sooner than full prefill of the same images, on most tasks.",
            _Q2,
            ("full-time",),
            ("image-pic@120", "image-full@120"),
            many_times_sooner((("image-pic@120", "image-full@120"),), 10.0),
        ),
        Claim(
            "Read in full, images at 120 DPI are level with text.",
            _Q2,
            ("full-f1",),
            ("image-full@120", "text-full"),
            alike("text-full", "image-full@120"),
            (other_reader, reads_little("image-full@120", "text-full")),
        ),
    ),
    "q3": (
        Claim(
            "QV-PIC scores higher than 72 DPI throughout.",
            _Q3,
            ("qv", "template@72"),
            ("qv-pic", "image-pic@72", "image-pic@120"),
            better("qv-pic", "image-pic@72"),
            (reads_little(*_FULL),),
            (no_detail("image-pic@72", "image-pic@120"),),
            choosing=True,
        ),
        Claim(
            "QV-PIC scores higher than 120 DPI throughout, and answers sooner.",
            _Q3,
            ("qv", "template@120", "qv-120"),
            ("qv-pic", "image-pic@72", "image-pic@120"),
            both(better("qv-pic", "image-pic@120"), sooner("qv-pic", "image-pic@120")),
            (reads_little(*_FULL),),
            choosing=True,
        ),
        Claim(
            "QV-PIC scores higher than text under the same template, and answers sooner.",
            _Q3,
            ("qv-text-f1", "qv-text-time"),
            ("qv-pic", "text-pic", "image-pic@72", "image-pic@120"),
            both(better("qv-pic", "text-pic"), sooner("qv-pic", "text-pic")),
            (other_reader, reads_little(*_FULL)),
            choosing=True,
        ),
        Claim(
            "QV-PIC answers much sooner than full prefill of the pages (here: at 72 DPI, the cheapest).",
            _Q3,
            ("qv-full-time",),
            ("qv-pic", "image-full@72"),
            sooner("qv-pic", "image-full@72"),
        ),
        Claim(
            "The template alone brings much.",
            _Q3,
            ("free@72", "template@72"),
            ("image-pic@72", "image-pic@72:free"),
            better("image-pic@72", "image-pic@72:free"),
            (reads_little("image-full@72"),),
            (nothing_lost("image-full@72", "image-pic@72:free"),),
        ),
        Claim(
            "Promotion alone, without the template, brings nothing.",
            _Q3,
            ("free@72", "qv-free"),
            ("qv-pic", "qv-pic:free", "image-pic@72:free", "image-pic@72", "image-pic@120"),
            alike("qv-pic:free", "image-pic@72:free"),
            (reads_little(*_FULL),),
            choosing=True,
        ),
        Claim(
            "Both together bring the most: far above 72 DPI without either.",
            _Q3,
            ("qv-vanilla", "qv"),
            ("qv-pic", "image-pic@72:free", "image-pic@72", "image-pic@120"),
            both(better("qv-pic", "image-pic@72:free"), better("qv-pic", "image-pic@72"), better("qv-pic", "qv-pic:free")),
            (reads_little(*_FULL),),
            (nothing_lost("image-full@72", "image-pic@72:free"),),
            choosing=True,
        ),
    ),
    "q4": (
        Claim(
            "The template lifts 72 DPI on this model too.",
            _Q4,
            ("q4-template",),
            ("image-pic@72", "image-pic@72:free"),
            better("image-pic@72", "image-pic@72:free"),
            (reads_little("image-full@120"),),
            (nothing_lost("image-full@120", "image-pic@72:free"),),
        ),
        Claim(
            "120 DPI scores higher than 72 on this model too.",
            _Q4,
            ("q4-dpi",),
            ("image-pic@72", "image-pic@120"),
            better("image-pic@120", "image-pic@72"),
            (reads_little("image-full@120"),),
        ),
        Claim(
            "QV-PIC is level with 120 DPI on this model too, and answers sooner.",
            _Q4,
            ("q4-qv",),
            ("qv-pic", "image-pic@72", "image-pic@120"),
            both(alike("image-pic@120", "qv-pic"), sooner("qv-pic", "image-pic@120")),
            (reads_little("image-full@120"),),
            choosing=True,
        ),
        Claim(
            "QV-PIC is level with text on this model too, and answers sooner.",
            _Q4,
            ("q4-qv",),
            ("qv-pic", "text-pic", "image-pic@72", "image-pic@120"),
            both(alike("text-pic", "qv-pic"), sooner("qv-pic", "text-pic")),
            (other_reader, reads_little("image-full@120")),
            choosing=True,
        ),
    ),
}
