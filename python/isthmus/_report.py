"""Reports: dicts that show themselves in a notebook, as the page that --report writes or as tables."""

import json
import os
from html import escape
from typing import Any, Dict, List, Tuple, Union

from ._library import Handle, call, taken_text

STYLE = """<style>
.isthmus table { border-collapse: collapse; margin: 0.3em 0 1em }
.isthmus th, .isthmus td { border-bottom: 1px solid #8884; padding: 0.15em 0.8em 0.15em 0; text-align: left; vertical-align: top }
.isthmus caption { text-align: left; font-weight: bold; padding-top: 0.5em }
</style>"""


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return escape(f"{value:.4g}")
    if isinstance(value, (dict, list)):
        if all(not isinstance(item, (dict, list)) for item in value):
            pairs = value.items() if isinstance(value, dict) else None
            return escape(", ".join(f"{k}: {v}" for k, v in pairs) if pairs is not None else ", ".join(map(str, value)))
        return f"<code>{escape(json.dumps(value))}</code>"
    return escape(str(value))


def _rows(title: str, rows: List[Dict[str, Any]]) -> str:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    head = "".join(f"<th>{escape(key)}</th>" for key in keys)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row.get(key, ''))}</td>" for key in keys) + "</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"


class Report(Dict[str, Any]):
    """The JSON object of a command; docs/json.md describes its keys. `page` is what --report writes."""

    _made_from: Any = None  # of the library

    @classmethod
    def taken(cls, pointer: int) -> "Report":
        """Of a report of the library that is ours to free."""
        handle = Handle("report", pointer)
        text = call("report_json", handle).decode()
        report = cls(json.loads(text) if text else {})
        report._made_from = handle
        return report

    def page(self) -> str:
        """One HTML page that needs no network: the graph, why each node is where it is, scales, memory. Empty where there
        is none: for what `inspect` says and for copies of a report."""
        return "" if self._made_from is None else taken_text(call("report_page", self._made_from))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page."""
        page = self.page()
        if not page:
            raise ValueError("this report has no page: those of check, explain, compile and evaluate have")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(page)

    def __reduce__(self) -> Tuple[Any, ...]:  # copies and pickles have the keys alone
        return Report, (dict(self),)

    def _repr_html_(self) -> str:
        page = self.page()
        if not page:
            return self._tables()
        # A frame of its own, without access to the notebook: names in a model may be anything.
        return (f'<iframe title="Isthmus report" sandbox="allow-scripts" style="width: 100%; height: 45em; border: 0" '
                f'srcdoc="{escape(page)}"></iframe>')

    def _tables(self) -> str:
        facts, tables = "", ""
        for key, value in self.items():
            if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
                tables += _rows(key, value)
            elif value not in ([], {}, None):
                facts += f"<tr><th>{escape(key)}</th><td>{_cell(value)}</td></tr>"
        return f'{STYLE}<div class="isthmus"><table>{facts}</table>{tables}</div>'
