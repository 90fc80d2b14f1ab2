// The graph as a table: sorted by a column, filtered, some rows at a time.
function nodesSection() {
  const nodes = report.graph.nodes.map((node, index) => ({ node, index }));
  const state = { key: "index", up: true, filter: "", only: "all", page: 0 };
  const kRows = 50;
  const columns = [
    { key: "index", title: "#", number: true, of: (row) => row.index },
    { key: "op", title: "Operator", of: (row) => row.node.op },
    { key: "name", title: "Node", of: (row) => row.node.name, cell: (row) => nodeLink(row.index, row.node.name) },
    { key: "place", title: "Runs on", of: (row) => row.node.place, cell: (row) => row.node.place < 0 && row.node.kind === "op" ? h("span", { class: "tag cpu" }, "CPU") : placeOf(row.node) },
    { key: "precision", title: "Precision", of: (row) => row.node.precision || row.node.kind },
    { key: "type", title: "Type", of: (row) => (row.node.types || []).join(", ") },
    { key: "db", title: "SQNR", number: true, of: (row) => row.node.error ? row.node.error.db : Infinity, cell: (row) => row.node.error ? dbText(row.node.error.db) : "" },
    { key: "cycles", title: "Cycles", number: true, of: (row) => row.node.cost ? row.node.cost.cycles : 0, cell: (row) => row.node.cost ? separated(row.node.cost.cycles) : "" },
    { key: "origin", title: "From", of: (row) => originOf(row.node) },
  ].filter((column) => (column.key !== "db" || nodes.some((row) => row.node.error)) && (column.key !== "cycles" || nodes.some((row) => row.node.cost)));
  const body = h("tbody"), status = h("span", { role: "status" });
  const heads = columns.map((column) => h("th", { scope: "col", class: column.number ? "number" : null },
    h("button", { type: "button", class: "button", onclick: () => { state.up = state.key === column.key ? !state.up : true; state.key = column.key; state.page = 0; show(); } }, column.title)));
  const kinds = { all: () => true, cpu: (row) => row.node.place < 0 && row.node.kind === "op", rescale: (row) => row.node.kind === "rescale",
    convert: (row) => row.node.kind === "convert", float: (row) => row.node.precision === "float" };
  function show() {
    const found = state.filter ? new Set(matches(state.filter)) : null;
    const rows = nodes.filter((row) => kinds[state.only](row) && (!found || found.has(row.index)));
    const column = columns.find((one) => one.key === state.key);
    rows.sort((a, b) => { const x = column.of(a), y = column.of(b); return (x < y ? -1 : x > y ? 1 : a.index - b.index) * (state.up ? 1 : -1); });
    heads.forEach((head, i) => columns[i].key === state.key ? head.setAttribute("aria-sort", state.up ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
    state.page = Math.min(state.page, Math.max(0, Math.ceil(rows.length / kRows) - 1));
    body.replaceChildren(...rows.slice(state.page * kRows, (state.page + 1) * kRows).map((row) => h("tr", { class: row.node.place < 0 && row.node.kind === "op" ? "host" : null },
      columns.map((column) => h("td", { class: column.number ? "number" : null }, column.cell ? column.cell(row) : String(column.of(row)))))));
    status.textContent = rows.length ? (state.page * kRows + 1) + " to " + Math.min(rows.length, (state.page + 1) * kRows) + " of " + counted(rows.length, "node") : "no node";
  }
  const turn = (by) => { state.page = Math.max(0, state.page + by); show(); };
  section("nodes", "Nodes", "Nodes", "the graph as a table", h("div", { class: "tools" },
    h("input", { type: "search", "aria-label": "Filter the table", placeholder: "Filter", oninput: (event) => { state.filter = event.target.value; state.page = 0; show(); } }),
    h("label", {}, h("span", { class: "unseen" }, "Which nodes"), h("select", { onchange: (event) => { state.only = event.target.value; state.page = 0; show(); } },
      [["all", "All nodes"], ["cpu", "On the CPU"], ["float", "In float"], ["rescale", "Rescales"], ["convert", "Conversions"]].map(([value, text]) => h("option", { value }, text))))),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of nodes" }, h("table", {}, h("caption", { class: "unseen" }, "Nodes"), h("thead", {}, h("tr", {}, heads)), body)),
    h("div", { class: "pager" }, h("button", { type: "button", class: "button", onclick: () => turn(-1) }, "Previous"),
      h("button", { type: "button", class: "button", onclick: () => turn(1) }, "Next"), status)).classList.add("long");
  show();
}
