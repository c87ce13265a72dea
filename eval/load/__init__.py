"""A home and a number of clients go in; a server is asked, fed, emptied and killed for minutes, and which promises it kept comes out."""
