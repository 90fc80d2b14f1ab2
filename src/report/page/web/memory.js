// Memory over time, and what the stages took.
function memorySection() {
  const memory = report.memory, summary = report.summary;
  if (!memory) return;
  const name = (at) => report.graph.nodes[memory.order[at]].name;
  const peak = memory.live[memory.peak];
  const points = memory.live.map((bytes, at) => [at, bytes]);
  const planned = summary.memory_bytes === undefined ? null : "The program plans " + bytesText(summary.memory_bytes) + " for values between delegates (" + bytesText(summary.least_memory_bytes) + " at least). ";
  section("memory", "Memory", "Memory over time", "values that are alive while each node runs, inside of delegates as well",
    h("p", {}, planned, "At the peak, while ", nodeLink(memory.order[memory.peak], name(memory.peak)), " runs, " + counted(memory.alive, "value") + " with " + bytesText(peak) + " are alive."),
    plot({ label: "Memory over time; the peak is " + bytesText(peak) + " at " + name(memory.peak), series: [{ kind: "area", points: points.length > 1 ? points : [...points, [1, points[0][1]]] }],
      areas: [{ x: memory.peak }], xEnd: points.length - 1, isBytes: true, yText: bytesText, xTitle: "nodes in the order in which they run", height: 200 }),
    h("h3", {}, "The tensors of the peak"), lives(memory),
    memory.alive > memory.tensors.length ? h("p", { class: "soft" }, "and " + counted(memory.alive - memory.tensors.length, "smaller value")) : null).classList.add("long");
}

// From when to when each of them is needed.
function lives(memory) {
  const width = 260, last = Math.max(1, memory.order.length - 1);
  const bar = (row) => s("svg", { class: "chart", width, height: 16, viewBox: "0 0 " + width + " 16", role: "img", "aria-label": "alive from step " + row.first + " to " + row.last + " of " + last },
    s("rect", { class: "whole", x: 0, y: 5, width, height: 6 }),
    s("rect", { class: "block", x: ((row.first / last) * width).toFixed(1), y: 2, height: 12, width: Math.max(3, ((row.last - row.first) / last) * width).toFixed(1) }));
  return table("Tensors of the peak", [{ title: "Value", cell: (row) => nodeLink(row.node, row.value) }, { title: "Type", cell: (row) => row.type },
    { title: "Bytes", number: true, cell: (row) => bytesText(row.bytes) }, { title: "Alive", cell: bar }], memory.tensors);
}

function costSection() {
  const rows = report.graph.nodes.map((node, index) => ({ node, index })).filter((row) => row.node.cost && row.node.cost.cycles > 0);
  if (!rows.length) return;
  const all = rows.reduce((sum, row) => sum + row.node.cost.cycles, 0);
  rows.sort((a, b) => b.node.cost.cycles - a.node.cost.cycles || a.index - b.index);
  section("cost", "Cycles", "Cycles", "node by node, by the target's estimate: " + separated(all) + " in all",
    table("Nodes that cost most", [{ title: "Node", cell: (row) => [nodeLink(row.index, row.node.name), " ", h("span", { class: "soft" }, row.node.op)] },
      { title: "Cycles", number: true, cell: (row) => separated(row.node.cost.cycles) }, { title: "Share", number: true, cell: (row) => ((100 * row.node.cost.cycles) / all).toFixed(1) + " %" },
      { title: "", cell: (row) => shareBar(row.node.cost.cycles / rows[0].node.cost.cycles) },
      { title: "SRAM", number: true, cell: (row) => bytesText(row.node.cost.sram_bytes) }, { title: "From", cell: (row) => originOf(row.node) }], rows.slice(0, 15)));
}
function shareBar(share) {
  return s("svg", { class: "chart", width: 160, height: 14, viewBox: "0 0 160 14", "aria-hidden": "true" },
    s("rect", { class: "whole", x: 0, y: 3, width: 160, height: 8 }), s("rect", { class: "bar", x: 0, y: 3, width: Math.max(1, share * 160).toFixed(1), height: 8 }));
}

function timesSection() {
  if (!report.times || !report.times.length) return;
  const sums = new Map();
  for (const time of report.times) {
    const stage = time.of ? "trials and the float reference" : time.stage;
    sums.set(stage, (sums.get(stage) || 0) + time.seconds);
  }
  const rows = [...sums].map(([stage, seconds]) => ({ stage, seconds }));
  const most = Math.max(...rows.map((row) => row.seconds), 1e-9), all = rows.reduce((sum, row) => sum + row.seconds, 0);
  section("times", "Times", "Times", (all * 1e3).toFixed(1) + " ms in all, as measured on this run",
    table("Times of the stages", [{ title: "Stage", cell: (row) => row.stage }, { title: "ms", number: true, cell: (row) => (row.seconds * 1e3).toFixed(1) },
      { title: "", cell: (row) => shareBar(row.seconds / most) }], rows));
}
