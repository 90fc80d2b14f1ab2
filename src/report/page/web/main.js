// The sections, from the verdict down.
function figures() {
  const summary = report.summary;
  byId("subject").textContent = summary.file || summary.plan || summary.model + " for " + summary.target;
  byId("figures").append(...report.figures.map((figure) => h("div", { class: "tile " + figure.grade },
    h("dt", {}, figure.label), h("dd", {}, h("div", { class: "value" }, figure.value), h("div", { class: "note" }, figure.note)))));
}

function fallbackSection() {
  const host = report.summary.host || [];
  if (!host.length) return;
  const byName = new Map(report.graph.nodes.map((node, index) => [node.name, index]));
  section("fallbacks", "CPU", "On the CPU", counted(host.length, "operator") + " the device does not run, and why",
    table("Operators on the CPU", [
      { title: "Operator", cell: (row) => [h("strong", {}, row.op), h("br"), nodeLink(byName.get(row.node), row.node)] },
      { title: "Where", cell: (row) => [h("span", { class: "mono line" }, row.origin), row.module ? [h("br"), h("span", { class: "soft" }, row.module)] : ""] },
      { title: "Why", cell: (row) => [row.reason, " ", h("span", { class: "tag" }, row.code), row.causes.length > 1 ? h("details", {}, h("summary", {}, "chain of causes"), causeList(row.causes)) : ""] },
      { title: "What helps", cell: (row) => row.hint }], host, () => ({ class: "host" }))).classList.add("long");
}

function warningSection() {
  const summary = report.summary;
  const rows = [...(summary.warnings || []).map((row) => ({ ...row, kind: "warning" })), ...(summary.notes || []).map((row) => ({ ...row, kind: "note" }))];
  if (!rows.length) return;
  section("warnings", "Warnings", "Warnings and notes", null, table("Warnings and notes", [{ title: "Kind", cell: (row) => h("span", { class: "tag" + (row.kind === "warning" ? " rescale" : "") }, row.kind) },
    { title: "Code", cell: (row) => h("span", { class: "mono" }, row.code) }, { title: "Node", cell: (row) => row.node }, { title: "Text", cell: (row) => row.text }], rows));
}

function ioSection() {
  const { inputs, outputs } = report.summary;
  if (!inputs || !outputs || !report.graph) return;
  const rows = [...inputs.map((row) => ({ ...row, kind: "input" })), ...outputs.map((row) => ({ ...row, kind: "output" }))];
  section("io", "Inputs, outputs", "Inputs and outputs", null, table("Inputs and outputs", [{ title: "", cell: (row) => row.kind }, { title: "Name", cell: (row) => h("span", { class: "mono" }, row.name) },
    { title: "Type", cell: (row) => row.dtype + "[" + row.shape.join(", ") + "]" }, { title: "Scale", cell: (row) => row.scale === undefined ? "" : short(row.scale) },
    { title: "Zero point", cell: (row) => row.zero_point === undefined ? "" : String(row.zero_point) }, { title: "SQNR", cell: (row) => row.sqnr_db === undefined ? "" : dbText(row.sqnr_db) }], rows));
}

function evalSection() {
  if (report.kind !== "eval") return;
  section("outputs", "Outputs", "Outputs", "against the model in float", table("Outputs", [{ title: "Output", cell: (row) => row.name }, { title: "SQNR", number: true, cell: (row) => dbText(row.sqnr_db) },
    { title: "Cosine", number: true, cell: (row) => row.cosine.toFixed(6) }], report.summary.outputs));
}

startTheme();
figures();
evalSection();
sweepSection();
if (report.graph) {
  fallbackSection();
  graphSection();
  groupsSection();
  precisionSection();
  memorySection();
  costSection();
  nodesSection();
}
ioSection();
warningSection();
timesSection();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
addEventListener("resize", () => view.svg && place());
const linked = decodeURIComponent(location.hash).match(/^#node=(.*)$/);
const wanted = linked ? linked[1] : report.node;
if (wanted && report.graph) showNode(report.graph.nodes.findIndex((node) => node.name === wanted));
