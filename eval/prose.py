"""Nothing in; the words of the two samples that are no plain files out: a library's rules (DOCX) and a museum's leaflet (PDF)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Table:
    rows: tuple[tuple[str, ...], ...]


Part = Heading | Paragraph | Table

LIBRARY_RULES: tuple[Part, ...] = (
    Heading("The Reading Rooms: hours and rules", 1),
    Paragraph(
        "The library belongs to the town and is open to everybody. You need no card to read here, and you may stay as long as we are open."
    ),
    Heading("Opening hours"),
    Table(
        (
            ("Day", "Reading rooms", "Lending desk"),
            ("Monday", "closed", "closed"),
            ("Tuesday to Thursday", "9.00 to 20.00", "10.00 to 19.00"),
            ("Friday", "9.00 to 18.00", "10.00 to 17.00"),
            ("Saturday", "10.00 to 16.00", "10.00 to 15.00"),
            ("Sunday", "13.00 to 17.00", "closed"),
        )
    ),
    Paragraph("We close for the last week of August, when the shelves are counted, and on public holidays."),
    Heading("Borrowing"),
    Paragraph(
        "A card is free for those who live or work in the town and costs twelve pounds a year for everybody else. You may have ten books at a time "
        "for four weeks, and renew them twice unless somebody is waiting. We charge no fines for late books. We do send letters, and the third one "
        "is signed by the head librarian in person."
    ),
    Heading("In the rooms"),
    Paragraph(
        "Please speak softly on the ground floor and not at all on the first. Water in a closed bottle is welcome; coffee is not, "
        "since the afternoon of the atlas."
    ),
    Paragraph(
        "Manuscripts and books printed before 1800 are read in the north room, under the eye of a member of staff and with a pencil. Order them "
        "by noon and they will be on your desk the next morning. Turn the leaves from the upper corner, with clean dry hands. Gloves do more harm "
        "than good: they take away the feeling in your fingers and tear the edges."
    ),
    Heading("Lost and found"),
    Paragraph(
        "Things left behind are kept for ninety days at the lending desk. We have at present eleven umbrellas, a violin bow, and a set of teeth."
    ),
)

MUSEUM_LEAFLET: tuple[Part, ...] = (
    Heading("The Museum of Small Machines", 1),
    Paragraph(
        "Welcome. You are standing in what was once the counting house of a rope works. The museum opened here in 1974 with a single glass case: "
        "forty pocket calculators, left to the town by a retired tax inspector. There are now some three thousand machines on two floors, and "
        "about half of them still run."
    ),
    Heading("Ground floor"),
    Paragraph(
        "Begin with the clocks to the left of the door. The oldest, a turret clock of 1592, has one hand only, for nobody in the parish needed "
        "to know the minute. It is wound every morning at ten, and you are welcome to take a turn at the crank."
    ),
    Paragraph(
        "The long case in the middle holds instruments for drawing: compasses, pantographs, and an ellipsograph that drew the arches of two "
        "bridges you may have crossed on your way here. Please do not lean on the glass."
    ),
    Heading("First floor"),
    Paragraph(
        "Upstairs are the machines that write and reckon. Try the typewriters by the window; paper is in the drawer. The black one without a "
        "letter e was ordered by a novelist, who sent it back after a month."
    ),
    Paragraph(
        "At the end of the room stands the Halloway engine, a difference engine of 2,150 parts built by a schoolmistress between 1871 and 1889. "
        "It was meant to print tables of the tides. It did so once, for the year 1890, and every figure was right."
    ),
    Heading("Before you go"),
    Paragraph(
        "Entrance is free on the first Sunday of each month and six pounds otherwise; children under twelve pay nothing. The engine is "
        "turned at three o'clock on Saturdays, if the volunteer who understands it is well."
    ),
)
