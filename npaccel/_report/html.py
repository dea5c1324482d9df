"""A report for notebooks and browsers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from npaccel._report.source_lines import Block, SourceLine, blocks
from npaccel._report.text import duration, facts, summary, verdict

if TYPE_CHECKING:
    from npaccel._report.report_data import ReportData

#: The class of a line in the style, by engine.
_CLASSES = {
    "C++": "fast",
    "Triton": "fast",
    "Numba": "fast",
    "library": "fast",
    "compiled": "fast",
    "interpreted": "middle",
    "Python": "middle",
    "draws": "middle",
    "NumPy": "slow",
}
_LIGHT = (
    "--text:#1f2328;--dim:#59636e;--page:#fff;--line:#d1d9e0;--code:#f6f8fa;"
    "--fast:#e3f5e6;--fast-edge:#1a7f37;--middle:#fdf3d0;--middle-edge:#9a6700;"
    "--slow:#fde7e6;--slow-edge:#cf222e;"
)
_DARK = (
    "--text:#e6edf3;--dim:#9ba5b0;--page:#151b23;--line:#3d444d;--code:#0d1117;"
    "--fast:#12301c;--fast-edge:#3fb950;--middle:#332a0b;--middle-edge:#d29922;"
    "--slow:#3b1a1b;--slow-edge:#f85149;"
)
_STYLE = (
    f".npaccel-report{{{_LIGHT}color:var(--text);background:var(--page);padding:12px;"
    "border:1px solid var(--line);border-radius:6px;font:13px/1.5 system-ui,sans-serif;"
    "text-align:left;max-width:100%;box-sizing:border-box}"
    f"@media(prefers-color-scheme:dark){{.npaccel-report{{{_DARK}}}}}"
    # JupyterLab's and VS Code's own themes come before the system's.
    f"[data-jp-theme-light=true] .npaccel-report,.vscode-light .npaccel-report{{{_LIGHT}}}"
    f"[data-jp-theme-light=false] .npaccel-report,.vscode-dark .npaccel-report{{{_DARK}}}"
    """
.npaccel-report h4{margin:12px 0 4px;font-size:13px;font-weight:600;color:var(--text)}
.npaccel-report p{margin:2px 0}
.npaccel-report .dim{color:var(--dim)}
.npaccel-report .scroll{overflow-x:auto}
.npaccel-report table{border-collapse:collapse;margin:8px 0;font-size:12px;color:var(--text)}
.npaccel-report th,.npaccel-report td{padding:2px 12px 2px 0;text-align:left;background:none;
border:0;border-bottom:1px solid var(--line);white-space:nowrap}
.npaccel-report .source{border:1px solid var(--line);border-radius:4px;overflow-x:auto;
font:12px/1.6 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.npaccel-report .row{display:flex;min-width:max-content;border-left:3px solid transparent;
white-space:pre;list-style:none}
.npaccel-report summary.row{cursor:pointer}
.npaccel-report summary.row::-webkit-details-marker{display:none}
.npaccel-report .number{width:4em;padding-right:1em;text-align:right;color:var(--dim);flex:none}
.npaccel-report .engine{width:8em;color:var(--dim);flex:none}
.npaccel-report .fold{width:1.5em;color:var(--dim);flex:none}
.npaccel-report details[open]>summary .fold{transform:rotate(90deg);transform-origin:25% 50%}
.npaccel-report .text{padding-right:1em}
.npaccel-report .fast{background:var(--fast);border-left-color:var(--fast-edge)}
.npaccel-report .middle{background:var(--middle);border-left-color:var(--middle-edge)}
.npaccel-report .slow{background:var(--slow);border-left-color:var(--slow-edge)}
.npaccel-report .note{padding:1px 1em 1px 13.5em;border-left:3px solid transparent;
color:var(--dim)}
.npaccel-report pre{margin:0;padding:8px 12px;background:var(--code);color:var(--text);
border-bottom:1px solid var(--line);overflow:auto;max-height:24em;font:inherit;line-height:1.4}
.npaccel-report .key span{padding:0 8px;margin-right:8px;border-left:3px solid transparent}
"""
)
_KEY = (
    '<p class="key dim"><span class="fast">compiled</span><span class="middle">driven by Python'
    '</span><span class="slow">runs in NumPy</span>a ▸ unfolds the generated code</p>'
)


def html(report: ReportData) -> str:
    """Return a report as an HTML fragment, with a style of its own for light and dark pages."""
    head, _, rest = summary(report).partition(":")
    parts = [f"<p><b>{escape(head)}</b>{escape(':' + rest)}</p>"]
    parts += [f"<p>{escape(fact)}</p>" for fact in (verdict(report), *facts(report))]
    shown = [block for block in blocks(report) if block.lines]
    if shown:
        parts.append(_KEY)
    parts += map(_block, shown)
    if report.graphs:
        parts.append(_graphs(report))
    parts += [f'<p class="dim">{escape(note)}</p>' for note in report.notes]
    return f'<div class="npaccel-report"><style>{_STYLE}</style>{"".join(parts)}</div>'


def page(reports: Sequence[ReportData]) -> str:
    """Return reports as a page."""
    body = "<br>".join(map(html, reports))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>npaccel</title>'
        '<meta name="viewport" content="width=device-width">'
        "<style>:root{color-scheme:light dark}body{margin:16px;background:Canvas}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def _graphs(report: ReportData) -> str:
    heading = ("graph", "signature", "shapes", "from", "time", "on disk")
    rows = ["".join(f"<th>{escape(cell)}</th>" for cell in heading)]
    for i, graph in enumerate(report.graphs):
        cells = (
            str(i),
            graph.signature,
            "dynamic" if graph.dynamic else "fixed",
            "disk" if graph.loaded else graph.backend,
            duration(graph.seconds),
        )
        row = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        where = escape(graph.artifact or graph.uncacheable)
        rows.append(f'{row}<td title="{where}">{"yes" if graph.artifact else "no"}</td>')
    inner = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="scroll"><table>{inner}</table></div>'


def _block(block: Block) -> str:
    rows = "".join(map(_line, block.lines))
    head = f'<h4>{escape(block.name)} <span class="dim">{escape(block.file)}</span></h4>'
    return f'{head}<div class="source">{rows}</div>'


def _line(line: SourceLine) -> str:
    kind = _CLASSES.get(line.engine, "")
    fold = "▸" if line.code else ""
    cells = (("number", str(line.number)), ("engine", line.engine), ("fold", fold))
    row = "".join(f'<span class="{name}">{escape(cell)}</span>' for name, cell in cells)
    row += f'<span class="text">{escape(line.text)}</span>'
    notes = "".join(f'<div class="note {kind}">{escape(note)}</div>' for note in line.notes)
    if not line.code:
        return f'<div class="row {kind}">{row}</div>{notes}'
    code = escape("\n\n".join(line.code))
    return f'<details><summary class="row {kind}">{row}</summary><pre>{code}</pre></details>{notes}'
