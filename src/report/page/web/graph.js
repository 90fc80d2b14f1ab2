// The picture of the graph: draws what is open, zooms and pans, follows the keyboard.
let tree = null;
const view = { svg: null, layer: null, x: 0, y: 0, scale: 1, width: 1, height: 1, order: [], elements: new Map(),
  edges: [], current: null, colours: "place", hits: new Set() };
const kColours = 6;

function fillOf(node) {
  const ramp = (share) => ({ "--fill": "color-mix(in srgb, var(--cpu) " + Math.round(8 + 72 * share) + "%, var(--card))", "--stroke": "var(--soft)" });
  if (view.colours === "cost") return ramp(node.cost ? Math.sqrt(node.cost.cycles / view.mostCycles) : 0);
  if (view.colours === "sqnr") return node.error ? ramp(Math.min(1, Math.max(0, (50 - node.error.db) / 40))) : {};
  if (view.colours === "precision") {
    const at = view.precisions.indexOf(node.precision);
    return at < 0 ? {} : { "--fill": "var(--seg" + (at % kColours) + ")", "--stroke": "var(--seg" + (at % kColours) + "-line)" };
  }
  if (node.place < 0) return {};
  return { "--fill": "var(--seg" + (node.place % kColours) + ")", "--stroke": "var(--seg" + (node.place % kColours) + "-line)" };
}

function nodeWords(item) {
  if (item instanceof Module) {
    return "module " + (item.label || "model") + ", " + counted(item.nodes, "node") +
      (item.hosts ? ", " + item.hosts + " on the CPU" : "") + (item.rescales ? ", " + counted(item.rescales, "rescale") : "");
  }
  if (item.kind === "node") return item.node.op + " " + item.node.name + ", " + (item.node.types || []).join(", ") + ", on " + placeOf(item.node);
  const end = item.source || item.output;
  return end.kind + " " + end.name + ", " + end.type;
}

function drawItem(box, level) {
  const item = box.item, isModule = item instanceof Module;
  if (item.kind === "port" && !item.text) {
    return s("line", { class: "edge", x1: box.x + 1, x2: box.x + 1, y1: item.side === "in" ? 0 : box.y, y2: item.side === "in" ? box.y + 2 : box.y + 2 + kMargin });
  }
  if (item.kind === "port") {
    return s("g", { class: "port", transform: "translate(" + box.x + " " + box.y + ")", onclick: () => select(item.leaf, true) },
      s("rect", { width: box.width, height: box.height, rx: 9 }),
      s("text", { x: box.width / 2, y: 12.5, "text-anchor": "middle" }, item.text), s("title", {}, leafName(item.leaf)));
  }
  const kind = isModule ? "module" + (item.open ? " open" : "") : item.kind === "node"
    ? (item.node.place < 0 && item.node.kind === "op" ? "host" : item.node.kind) : "end";
  const group = s("g", { class: "item " + kind + (isHit(item) ? " hit" : ""), id: "item-" + item.id, role: "treeitem",
    tabindex: "-1", "aria-level": level, "aria-label": nodeWords(item), "aria-expanded": isModule ? String(item.open) : null,
    "aria-selected": "false", transform: "translate(" + box.x.toFixed(1) + " " + box.y.toFixed(1) + ")",
    vars: item.kind === "node" && kind === "op" ? fillOf(item.node) : {} });
  view.elements.set(item.id, { group, item });
  view.order.push(item);
  if (isModule && item.open) {
    group.append(s("rect", { width: box.width, height: box.height, rx: 9 }),
      s("rect", { class: "bar", width: box.width, height: kTitle, rx: 9 }),
      s("text", { x: 12, y: 17.5 }, "\u25be " + cropped(item.label, Math.floor(box.width / 8))));
    const inner = s("g", { role: "group", transform: "translate(" + ((box.width - layoutOf(item).width) / 2).toFixed(1) + " " + kTitle + ")" });
    drawInto(inner, item, level + 1);
    group.append(inner);
    return group;
  }
  const [title, under] = labelOf(item).map((text) => cropped(text, 30));
  const small = item.kind === "node" && item.node.kind !== "op";
  if (isModule) group.append(s("path", { class: "stack", d: "M8 " + (box.height + 4) + "H" + (box.width - 4) + "Q" + (box.width + 4) + " " + (box.height + 4) + " " + (box.width + 4) + " " + (box.height - 4) + "V8" }));
  const end = item.kind !== "node" && !isModule;
  group.prepend(s("rect", { width: box.width, height: box.height, rx: small || end ? box.height / 2 : 6 }));
  group.append(s("text", { x: box.width / 2, y: small ? 17.5 : 17, "text-anchor": "middle" }, (isModule ? "\u25b8 " : "") + title));
  if (!small) group.append(s("text", { class: "small", x: box.width / 2, y: 32, "text-anchor": "middle" }, under));
  if (kind === "host") group.append(s("text", { class: "warn", x: box.width + 5, y: box.height / 2 + 4 }, "CPU"));
  if (isModule) drawShares(group, item, box);
  group.append(s("title", {}, nodeWords(item)));
  return group;
}

// How much of a closed module runs where, and what stands out in it.
function drawShares(group, module, box) {
  let at = 6;
  const whole = box.width - 12;
  for (const [place, count] of [...module.places].sort((a, b) => a[0] - b[0])) {
    const wide = (count / module.nodes) * whole;
    group.append(s("rect", { class: "share", x: at.toFixed(1), y: box.height - 6, width: Math.max(wide, 1.5).toFixed(1), height: 3,
      vars: { fill: place < 0 ? "var(--cpu)" : "var(--seg" + (place % kColours) + "-line)" } }));
    at += wide;
  }
  const words = [module.hosts ? module.hosts + " on the CPU" : "", module.rescales ? counted(module.rescales, "rescale") : ""].filter(Boolean).join(", ");
  if (words) group.append(s("text", { class: "warn", x: box.width / 2, y: 46, "text-anchor": "middle" }, cropped(words, 26)));
}

function drawInto(parent, module, level) {
  const layout = layoutOf(module);
  for (const path of layout.paths) {
    const line = s("path", { class: "edge", d: pathText(path.points), "marker-end": path.isEnd ? null : "url(#head)" });
    view.edges.push({ line, from: path.from, to: path.to });
    parent.append(line);
  }
  for (const box of layout.boxes) parent.append(drawItem(box, level));
}

function draw() {
  view.elements.clear();
  view.order = [];
  view.edges = [];
  const layout = layoutOf(tree.root);
  view.width = layout.width;
  view.height = layout.height;
  const layer = s("g", { class: "layer", role: "none" });
  drawInto(layer, tree.root, 1);
  view.layer.replaceWith(layer);
  view.layer = layer;
  view.order.sort((a, b) => a.first - b.first || (a instanceof Module ? -1 : 1));
  place();
  mark();
}

function place() {
  view.layer.setAttribute("transform", "translate(" + view.x.toFixed(1) + " " + view.y.toFixed(1) + ") scale(" + view.scale.toFixed(4) + ")");
}
function zoom(factor, x, y) {
  const box = view.svg.getBoundingClientRect();
  const at = { x: x === undefined ? box.width / 2 : x, y: y === undefined ? box.height / 2 : y };
  const scale = Math.min(3, Math.max(0.03, view.scale * factor));
  view.x = at.x - ((at.x - view.x) * scale) / view.scale;
  view.y = at.y - ((at.y - view.y) * scale) / view.scale;
  view.scale = scale;
  place();
}
// All of it, or from its start where it would be too small to read.
function fit(whole) {
  const box = view.svg.getBoundingClientRect();
  const all = Math.min((box.width - 24) / view.width, (box.height - 24) / view.height, 1.15);
  view.scale = whole || all > 0.6 ? all : Math.max(all, Math.min(0.85, (box.width - 24) / view.width));
  view.x = (box.width - view.width * view.scale) / 2;
  view.y = view.height * view.scale < box.height ? (box.height - view.height * view.scale) / 2 : 12;
  place();
}
function reveal(item) {
  const found = view.elements.get(item.id);
  if (!found) return;
  const box = view.svg.getBoundingClientRect();
  const rect = found.group.querySelector("rect").getBoundingClientRect();
  if (view.scale < 0.45) zoom(0.8 / view.scale);
  const now = found.group.querySelector("rect").getBoundingClientRect();
  const inside = rect === now && rect.left >= box.left && rect.right <= box.right && rect.top >= box.top && rect.bottom <= box.bottom;
  if (inside) return;
  const tall = Math.min(now.height, box.height - 60);
  view.x += box.left + box.width / 2 - (now.left + now.width / 2);
  view.y += box.top + box.height / 2 - (now.top + tall / 2);
  place();
}

// The current item, and the edges at it.
function mark() {
  for (const { group, item } of view.elements.values()) {
    const is = item === view.current;
    group.classList.toggle("current", is);
    group.setAttribute("aria-selected", String(is));
    group.setAttribute("tabindex", is || (!view.current && item === view.order[0]) ? "0" : "-1");
  }
  for (const edge of view.edges) edge.line.classList.toggle("near", !!view.current && (edge.from === view.current.id || edge.to === view.current.id));
}

function toggle(module, open) {
  module.open = open === undefined ? !module.open : open;
  forgetLayout(module);
  draw();
}

// Opens what hides the item, and shows what is known of it.
function select(item, isFar) {
  let opened = false;
  for (let at = item.parent; at; at = at.parent) {
    if (!at.open) { at.open = true; forgetLayout(at); opened = true; }
  }
  if (opened) draw();
  view.current = item;
  mark();
  if (isFar || opened) reveal(item);
  const detail = byId("detail");
  detail.replaceChildren(...[item instanceof Module ? moduleDetail(item) : item.kind === "node" ? nodeDetail(item.index) : endDetail(item)].flat());
  detail.scrollTop = 0;
}
function showNode(index) {
  if (index === null || index === undefined || !tree) return;
  select(tree.leaves[index], true);
  byId("graph").scrollIntoView({ block: "start" });
  view.elements.get(tree.leaves[index].id).group.focus({ preventScroll: true });
}

function step(by) {
  const at = Math.max(0, view.order.indexOf(view.current));
  const next = view.order[Math.min(view.order.length - 1, Math.max(0, at + by))];
  select(next, true);
  view.elements.get(next.id).group.focus({ preventScroll: true });
}
function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const item = view.current;
  const isModule = item instanceof Module;
  const focusCurrent = () => view.elements.get(view.current.id).group.focus({ preventScroll: true });
  const actions = {
    ArrowDown: () => step(1), ArrowUp: () => step(-1), Home: () => step(-Infinity), End: () => step(Infinity),
    ArrowRight: () => { if (isModule && !item.open) { toggle(item, true); focusCurrent(); } else step(1); },
    ArrowLeft: () => {
      const closes = isModule && item.open ? item : item && item.parent;
      if (!closes || !closes.parent) return step(-1);
      if (closes === item) toggle(item, false); else select(closes, true);
      focusCurrent();
    },
    Enter: () => {
      if (!item) return step(0);
      if (isModule) { toggle(item); focusCurrent(); return reveal(item); }
      select(item); byId("detail").querySelector("h3").focus();
    },
    " ": () => { if (isModule) { toggle(item); focusCurrent(); } else if (item) select(item); },
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": () => fit(true),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

function itemAt(target) {
  const group = target.closest && target.closest(".item");
  const found = group && view.elements.get(group.id.slice("item-".length));
  return found ? found.item : null;
}
function listen(svg) {
  let from = null, moved = false;
  svg.addEventListener("pointerdown", (event) => { from = { x: event.clientX - view.x, y: event.clientY - view.y, px: event.clientX, py: event.clientY }; moved = false; });
  svg.addEventListener("pointermove", (event) => {
    if (!from || !(event.buttons & 1)) return;
    if (!moved && Math.hypot(event.clientX - from.px, event.clientY - from.py) < 4) return;
    if (!moved) svg.setPointerCapture(event.pointerId);
    moved = true;
    svg.classList.add("dragging");
    view.x = event.clientX - from.x;
    view.y = event.clientY - from.y;
    place();
  });
  const end = () => { from = null; svg.classList.remove("dragging"); };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  svg.addEventListener("click", (event) => {
    if (moved) return;
    const item = itemAt(event.target);
    if (!item) return;
    select(item);
    if (item instanceof Module && event.target.classList.contains("bar")) toggle(item, false);
    view.elements.get(item.id).group.focus({ preventScroll: true });
  });
  svg.addEventListener("dblclick", (event) => {
    const item = itemAt(event.target);
    if (item instanceof Module && item.parent) { toggle(item); reveal(item); }
  });
  // A page scrolls by the wheel until the graph has been clicked.
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !svg.contains(document.activeElement)) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  svg.addEventListener("keydown", onKey);
}

// Opens modules from the outermost inwards while the picture stays small; those with fallbacks first.
function openSome(most) {
  let shown = tree.root.items.length;
  const waiting = tree.root.items.filter((item) => item instanceof Module);
  while (waiting.length) {
    waiting.sort((a, b) => (b.hosts > 0) - (a.hosts > 0) || a.items.length - b.items.length);
    const module = waiting.shift();
    if (shown + module.items.length > most) continue;
    module.open = true;
    shown += module.items.length - 1;
    waiting.push(...module.items.filter((item) => item instanceof Module));
  }
}
function openAll(open) {
  const visit = (module) => module.items.forEach((item) => {
    if (!(item instanceof Module)) return;
    item.open = open; item.layout = null; visit(item);
  });
  visit(tree.root);
  tree.root.layout = null;
  draw();
  fit(open);
}

function legend() {
  const swatch = (fill, line, text) => h("li", {}, h("i", { vars: { "--swatch": fill, "--swatch-line": line } }), text);
  const rows = [];
  if (view.colours === "place") {
    report.graph.segments.slice(0, 12).forEach((name, i) => rows.push(swatch("var(--seg" + (i % kColours) + ")", "var(--seg" + (i % kColours) + "-line)", name)));
  } else if (view.colours === "precision") {
    view.precisions.forEach((name, i) => rows.push(swatch("var(--seg" + (i % kColours) + ")", "var(--seg" + (i % kColours) + "-line)", name)));
  } else {
    const words = view.colours === "cost" ? ["no cycles", "most cycles"] : ["50 dB and more", "10 dB and less"];
    rows.push(swatch("color-mix(in srgb, var(--cpu) 8%, var(--card))", "var(--soft)", words[0]), swatch("color-mix(in srgb, var(--cpu) 80%, var(--card))", "var(--soft)", words[1]));
  }
  rows.push(swatch("var(--cpu-soft)", "var(--cpu)", "on the CPU"), swatch("var(--rescale-soft)", "var(--rescale)", "rescale"),
    swatch("var(--convert-soft)", "var(--soft)", "quantize, dequantize"));
  byId("legend").replaceChildren(...rows);
}

function graphSection() {
  const graph = report.graph;
  tree = moduleTree(graph);
  placeEdges(tree);
  view.mostCycles = graph.nodes.reduce((most, node) => Math.max(most, node.cost ? node.cost.cycles : 0), 1);
  view.precisions = [...new Set(graph.nodes.map((node) => node.precision).filter(Boolean))].sort();
  const has = (key) => graph.nodes.some((node) => node[key]);
  const colours = [["place", "by delegate", true], ["precision", "by precision", view.precisions.length > 0], ["sqnr", "by SQNR", has("error")], ["cost", "by cycles", has("cost")]];
  const button = (text, label, onclick) => h("button", { type: "button", class: "button", "aria-label": label, onclick }, text);
  view.layer = s("g", {});
  view.svg = s("svg", { class: "graph", role: "tree", "aria-label": "Graph of the model in the order of data flow. Arrow keys move, Enter opens." },
    s("defs", {}, s("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
      s("path", { class: "head", d: "M0 0.8L8 4L0 7.2z" }))), view.layer);
  section("graph", "Graph", "Graph", counted(graph.nodes.length, "node") + " in the order of data flow, collapsed by module; a click shows a node, a double click opens a module",
    h("div", { class: "tools" }, searchBox(),
      h("label", {}, h("span", { class: "unseen" }, "Colours"), h("select", { id: "colours", onchange: (event) => { view.colours = event.target.value; legend(); draw(); } },
        colours.filter((row) => row[2]).map(([value, text]) => h("option", { value }, "Colours " + text)))),
      button("Expand all", "Expand all modules", () => openAll(true)), button("Collapse all", "Collapse all modules", () => openAll(false)),
      button("\u2212", "Zoom out", () => zoom(0.8)), button("+", "Zoom in", () => zoom(1.25)), button("Fit", "Fit the whole graph", () => fit(true))),
    h("div", { class: "workspace" },
      h("div", {}, h("div", { class: "canvas" }, view.svg), h("ul", { class: "legend", id: "legend", "aria-label": "Legend" })),
      h("aside", { class: "detail", id: "detail", "aria-label": "Selected node", "aria-live": "polite", tabindex: "0" })),
    h("p", { class: "soft hide-print" }, "Keys in the graph: arrows move along the data flow, right and left open and close a module, Enter shows a node, + and \u2212 zoom, 0 fits. ",
      "After a click the wheel zooms. ", h("a", { href: "#nodes" }, "The same as a table.")));
  openSome(40);
  listen(view.svg);
  legend();
  draw();
  fit(false);
  const first = graph.nodes.findIndex((node) => node.place < 0 && node.kind === "op" && node.needs_fix !== false);
  byId("detail").replaceChildren(...moduleDetail(tree.root));
  if (first >= 0) select(tree.leaves[first], true);
}
