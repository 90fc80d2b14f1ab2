// All that is known of one node, beside the graph.
function facts(rows) {
  return h("dl", {}, rows.filter((row) => row && row[1] !== undefined && row[1] !== null && row[1] !== "")
    .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function quantText(quant) {
  if (quant.channels) {
    return quant.storage + ", " + counted(quant.channels, "scale") + " along axis " + quant.axis + ", " +
      short(quant.scales[0]) + " to " + short(quant.scales[1]);
  }
  return quant.storage + ", scale " + short(quant.scale) + ", zero point " + quant.zero_point;
}

function causeList(causes) {
  return h("ol", { class: "causes" }, causes.map((cause) => h("li", {}, h("strong", {}, cause.op + " %" + cause.node),
    cause.origin ? " (" + cause.origin + ")" : "", ": ", cause.because, " ",
    h("span", { class: "tag" }, cause.code))));
}

function nodeDetail(index) {
  const graph = report.graph, node = graph.nodes[index];
  const from = node.from.map((at) => at >= 0 ? nodeLink(at, graph.nodes[at].name) : h("span", { class: "mono" }, graph.sources[-1 - at].name));
  const readers = (tree.readers[index] || []).map((at) => nodeLink(at, graph.nodes[at].name));
  const listed = (links) => links.length ? links.map((link, i) => [i ? ", " : "", link]) : null;
  const parts = [h("h3", { tabindex: "-1" }, node.op + " ", h("span", { class: "mono soft" }, "%" + node.name))];
  if (node.place < 0 && node.kind === "op") parts.push(h("p", {}, h("span", { class: "tag cpu" }, "runs on the CPU")));
  if (node.kind === "rescale") parts.push(h("p", {}, h("span", { class: "tag rescale" }, "rescale: from one set of parameters to another")));
  if (node.kind === "convert") parts.push(h("p", {}, h("span", { class: "tag" }, "conversion between floats and quantized values")));
  parts.push(facts([
    ["Runs on", placeOf(node)], ["Type", (node.types || []).join(", ")], ["Precision", node.precision],
    ["Because", node.because], ["Source", node.source ? h("span", { class: "mono" }, node.source) : null], ["Call", node.call],
    ["Module", node.module], ["Also called", (node.aliases || []).join(", ")], ["Reads", listed(from)], ["Read by", listed(readers)],
    ["Result", node.bytes === undefined ? null : bytesText(node.bytes)],
  ]));
  if (node.causes) {
    parts.push(h("h4", {}, node.place < 0 ? "Why it is on the CPU" : "Why it is not quantized"), causeList(node.causes));
    if (node.fix) parts.push(h("p", { class: "advice" }, node.fix));
  }
  if (node.quant) parts.push(h("h4", {}, "Quantization parameters"), h("p", {}, quantText(node.quant)));
  if (node.group !== undefined) parts.push(h("p", {}, groupLink(node.group)));
  if (node.histogram) parts.push(h("h4", {}, "What calibration saw"), histogram(node.histogram, node.quant && node.quant.covers));
  if (node.error) {
    parts.push(h("h4", {}, "What it loses"), facts([["SQNR here", dbText(node.error.db)],
      ["Own rounding", dbText(node.error.rounding_db)], ["Alone it would have", dbText(node.error.alone_db)],
      node.gain ? ["In more precision", (node.gain.db >= 0 ? "+" : "") + node.gain.db.toFixed(1) + " dB at the outputs"] : null]));
  }
  if (node.cost) {
    parts.push(h("h4", {}, "Cost, by estimate"), facts([["Cycles", separated(node.cost.cycles)], ["SRAM while it runs", bytesText(node.cost.sram_bytes)]]));
  }
  if (node.becomes) {
    parts.push(h("h4", {}, "Operators of the device"), h("p", {}, node.becomes.map(([name, count]) => (count > 1 ? count + " " : "") + name).join(", ")));
  }
  if (node.constants) {
    parts.push(h("h4", {}, "Constants"), h("ul", {}, node.constants.map((constant) => h("li", {}, h("span", { class: "mono" }, constant.name), " ",
      constant.type, constant.bytes === undefined ? "" : ", " + bytesText(constant.bytes), constant.quant ? ", " + quantText(constant.quant) : ""))));
  }
  if (node.rewrites) {
    parts.push(h("h4", {}, "Rewritten for the target"), h("ul", {}, node.rewrites.map(([name, what, of]) => h("li", {}, name + ": " + what + " (%" + of + ")"))));
  }
  return parts;
}

function moduleDetail(module) {
  const places = [...module.places].map(([place, count]) => (place < 0 ? "CPU" : report.graph.segments[place]) + ": " + count);
  return [h("h3", { tabindex: "-1" }, module.parent ? module.label : "The whole model"),
    facts([["Module", module.path], ["Nodes", separated(module.nodes)], ["Where", places.join(", ")],
      ["On the CPU", module.hosts ? separated(module.hosts) : null], ["Rescales", module.rescales ? separated(module.rescales) : null]]),
    h("p", { class: "soft" }, "Enter or a double click opens and closes a module.")];
}

function endDetail(leaf) {
  const end = leaf.source || leaf.output;
  return [h("h3", { tabindex: "-1" }, end.kind + " ", h("span", { class: "mono soft" }, "%" + end.name)),
    facts([["Type", end.type], ["Parameters", end.quant ? quantText(end.quant) : null]])];
}
