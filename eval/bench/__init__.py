"""Models, pages and questions go in; the time to the first token comes out, its parts, what it grows with, and what it costs in bytes."""
