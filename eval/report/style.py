"""The report page's style sheet: one column, light and dark, from 320 pixels up. Tables scroll in their own boxes; the page never does."""

STYLE = """
:root { --ground: #fdfcf9; --ink: #1d2126; --quiet: #5b636d; --line: #d9d6ce; --box: #f3f1ea; --theirs: #fff4d6; --theirs-line: #b98a12;
  --seen: #0b6b43; --not: #a3341b; --open: #5b636d; --link: #0a5a9c; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181b; --ink: #e7e5df; --quiet: #a3a9b1; --line: #383c42; --box: #1f2226; --theirs: #332b14;
  --theirs-line: #d9ab3f; --seen: #62c897; --not: #f0907a; --open: #a3a9b1; --link: #7db8ee; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1.0625rem/1.6 Charter, "Bitstream Charter", "Iowan Old Style", Georgia, serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; overflow-wrap: break-word; }
h1, h2, h3, th, caption, .badge, nav, .plate b { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: clamp(1.7rem, 5vw, 2.4rem); line-height: 1.15; margin: 0 0 .6rem; letter-spacing: -.01em; }
h2 { font-size: 1.4rem; line-height: 1.25; margin: 3.5rem 0 .5rem; padding-top: 1.2rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
p, ul, dl { margin: .7rem 0; max-width: 44rem; }
a { color: var(--link); }
.lead { font-size: 1.15rem; }
.quiet, figcaption { color: var(--quiet); font-size: .95rem; }
dt { font-weight: 600; margin-top: .7rem; }
dd { margin: .1rem 0 0 1rem; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; }
code, pre { font: .88rem/1.5 ui-monospace, "SFMono-Regular", Menlo, "DejaVu Sans Mono", monospace; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem; margin: .7rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.word { white-space: nowrap; }
.tally { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; list-style: none; padding: 0; }
.scroll { overflow-x: auto; margin: 1rem 0; border: 1px solid var(--line); border-radius: 6px; }
.scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; line-height: 1.4; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .6rem .75rem; color: var(--quiet); font-size: .85rem; }
th, td { padding: .38rem .75rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { font-size: .8rem; white-space: nowrap; background: var(--box); vertical-align: bottom; }
tbody th { font-weight: 500; white-space: nowrap; }
td { white-space: nowrap; }
.number { text-align: right; }
th.theirs, td.theirs { background: var(--theirs); border-left: 3px solid var(--theirs-line); white-space: normal; min-width: 9rem; }
.plate { background: var(--theirs); border-left: 3px solid var(--theirs-line); padding: .55rem .9rem;
  margin: .6rem 0 0; border-radius: 0 6px 6px 0; font-size: .93rem; }
.plate ul { margin: .2rem 0; padding-left: 1.1rem; }
.claim { border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem; margin: .9rem 0; }
.claim p { margin: .3rem 0; }
.badge { display: inline-block; font-size: .78rem; font-weight: 700; letter-spacing: .02em; border: 1.5px solid currentColor;
  border-radius: 99px; padding: .05rem .6rem; margin-right: .3rem; }
.seen { color: var(--seen); } .not-seen { color: var(--not); } .not-testable, .not-measured { color: var(--open); border-style: dashed; }
.missing { border: 1px dashed var(--quiet); border-radius: 6px; padding: .7rem 1rem; color: var(--quiet); }
figure { margin: 1.2rem 0; }
figure > div { overflow-x: auto; }
figure > div:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
figure img { display: block; width: 100%; min-width: 34rem; height: auto; background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: .4rem; }
details summary { cursor: pointer; color: var(--link); }
@media print { details > * { display: block; } .scroll { overflow: visible; } }
"""
