// The points of a sweep: a table, and accuracy over bytes for each model and target.
const accuracyOf = (row) => (row.top1 !== undefined ? row.top1 * 100 : row.sqnr_db || 0);

function frontPlot(name, rows) {
  const byBytes = (a, b) => a.bytes - b.bytes;
  const front = rows.filter((row) => row.is_on_front).sort(byBytes);
  const unit = rows[0].top1 !== undefined ? " %" : " dB";
  return [h("h3", {}, name), plot({
    label: "Accuracy over bytes of " + name + ", " + counted(front.length, "point") + " on the front", height: 200,
    series: [{ kind: "a", points: front.map((row) => [row.bytes, accuracyOf(row)]) }],
    dots: rows.map((row) => ({ x: row.bytes, y: accuracyOf(row), low: !row.is_on_front,
      words: row.configuration + ": " + accuracyOf(row).toFixed(2) + unit + ", " + separated(row.bytes) + " bytes" })),
    xEnd: rows.reduce((most, row) => Math.max(most, row.bytes), 1), yText: (mark) => mark + unit,
    xTitle: "bytes, to " + bytesText(rows.reduce((most, row) => Math.max(most, row.bytes), 0)) })];
}

function sweepSection() {
  if (report.kind !== "sweep") return;
  const points = report.summary.points;
  const percent = (share) => (share === undefined ? "" : (share * 100).toFixed(2) + " %");
  section("points", "Points", "Points", "those in bold are on the front of their model and target",
    table("Points", [
      { title: "Model", cell: (row) => row.model }, { title: "Target", cell: (row) => row.target },
      { title: "Configuration", cell: (row) => (row.is_on_front ? h("strong", {}, row.configuration) : row.configuration) },
      { title: "Top-1", number: true, cell: (row) => percent(row.top1) }, { title: "In float", number: true, cell: (row) => percent(row.top1_reference) },
      { title: "SQNR", number: true, cell: (row) => (row.sqnr_db === undefined ? "" : dbText(row.sqnr_db)) },
      { title: "Delegates", number: true, cell: (row) => (row.error ? "" : separated(row.delegates)) },
      { title: "On the CPU", number: true, cell: (row) => (row.error ? "" : separated(row.nodes - row.delegated_nodes)) },
      { title: "Bytes", number: true, cell: (row) => (row.error ? "" : separated(row.bytes)) },
      { title: "Time", number: true, cell: (row) => (row.cycles !== undefined ? separated(row.cycles) + " cycles" : row.ms !== undefined ? row.ms.toFixed(3) + " ms" : "") },
      { title: "Error", cell: (row) => (row.error ? row.error.message : "") },
    ], points, (row) => ({ class: row.error ? "host" : null }))).classList.add("long");
  const groups = new Map();
  points.filter((row) => !row.error).forEach((row) => {
    const name = row.model + " on " + row.target;
    groups.set(name, [...(groups.get(name) || []), row]);
  });
  if (groups.size) section("fronts", "Fronts", "Accuracy over bytes", "the line joins the points of the front", [...groups].map(([name, rows]) => frontPlot(name, rows)));
}
