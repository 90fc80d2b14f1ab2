"""Reports: dicts that show themselves as tables in a notebook."""

import json
from html import escape
from typing import Any, Dict, List

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
    """The JSON object of a command; docs/json.md describes its keys."""

    def _repr_html_(self) -> str:
        facts, tables = "", ""
        for key, value in self.items():
            if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
                tables += _rows(key, value)
            elif value not in ([], {}, None):
                facts += f"<tr><th>{escape(key)}</th><td>{_cell(value)}</td></tr>"
        return f'{STYLE}<div class="isthmus"><table>{facts}</table>{tables}</div>'
