// How much of the signal is left along the network.
function precisionSection() {
  const rows = report.graph.nodes.map((node, index) => ({ node, index })).filter((row) => row.node.error);
  if (!rows.length) return;
  const cap = (db) => Math.min(db, 80);
  const worst = rows.slice().sort((a, b) => a.node.error.db - b.node.error.db || a.index - b.index).slice(0, 10);
  const low = new Set(worst.map((row) => row.index));
  section("precision", "Precision", "Precision along the network", "SQNR of each quantized value against the model in float, in the order of data flow",
    plot({ label: "SQNR along the network: the lowest is " + dbText(worst[0].node.error.db) + " at " + worst[0].node.name,
      series: [{ kind: "b", points: rows.map((row) => [row.index, cap(row.node.error.rounding_db)]) }, { kind: "a", points: rows.map((row) => [row.index, cap(row.node.error.db)]) }],
      dots: rows.map((row) => ({ x: row.index, y: cap(row.node.error.db), low: low.has(row.index), node: row.index, words: row.node.op + " %" + row.node.name + ": " + dbText(row.node.error.db) })),
      xEnd: report.graph.nodes.length - 1, yText: (mark) => mark + " dB", xTitle: "nodes in the order of data flow" }),
    h("ul", { class: "legend" }, h("li", {}, h("i", { vars: { "--swatch": "var(--accent)" } }), "all that was lost up to here"),
      h("li", {}, h("i", { vars: { "--swatch": "var(--seg1-line)" } }), "its own rounding alone (dashed)"), h("li", {}, h("i", { vars: { "--swatch": "var(--cpu)" } }), "the worst ten")),
    h("h3", {}, "The worst " + worst.length),
    table("Values with the lowest SQNR", [{ title: "Node", cell: (row) => [nodeLink(row.index, row.node.name), h("br"), h("span", { class: "soft" }, row.node.op + " " + originOf(row.node))] },
      { title: "SQNR", number: true, cell: (row) => dbText(row.node.error.db) }, { title: "Own rounding", number: true, cell: (row) => dbText(row.node.error.rounding_db) },
      { title: "Sharing costs", number: true, cell: (row) => Math.max(0, Math.min(row.node.error.alone_db, kExactDb) - row.node.error.rounding_db).toFixed(1) + " dB" },
      { title: "What calibration saw", cell: (row) => row.node.histogram ? histogram(row.node.histogram, row.node.quant && row.node.quant.covers) : "" }], worst)).classList.add("long");
}
