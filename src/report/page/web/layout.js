// Places of what is visible: each open module is laid out by itself and is one box in the module around it, so that
// opening one lays out that one and those around it, nothing else.
const kTitle = 26, kMargin = 14, kMaxPorts = 8;

const leafName = (leaf) => (leaf.node || leaf.source || leaf.output).name;
function cropped(text, most) { return text.length > most ? text.slice(0, most - 1) + "\u2026" : text; }
function labelOf(item) {
  if (item instanceof Module) return [item.label, counted(item.nodes, "node")];
  if (item.kind === "node") return [item.node.op, item.node.name];
  return [leafName(item), item.kind === "source" ? item.source.kind : item.output.kind];
}
function sizeOf(item) {
  const [title, under] = labelOf(item).map((text) => cropped(text, 30));
  const width = Math.max(64, Math.max(title.length * 7.4, under.length * 6) + 24);
  if (item.kind === "node" && item.node.kind !== "op") return { width: Math.max(58, title.length * 6.8 + 20), height: 26 };
  const badges = item instanceof Module && (item.hosts || item.rescales) ? 14 : 0;
  return { width: Math.max(width, item instanceof Module ? 120 : 0), height: 40 + badges };
}

// {width, height, boxes: [{item, x, y, width, height}], paths: [{points, edge}], ports}
function layoutOf(module) {
  if (module.layout) return module.layout;
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 34, edgesep: 12, marginx: kMargin, marginy: kMargin });
  graph.setDefaultEdgeLabel(() => ({}));
  const shown = new Map();
  for (const item of module.items) {
    const inner = item instanceof Module && item.open ? layoutOf(item) : null;
    const size = inner ? { width: Math.max(inner.width, 150), height: inner.height + kTitle } : sizeOf(item);
    shown.set(item.id, { item, ...size });
    graph.setNode(item.id, { ...size });
  }
  // What comes from one place alone needs no name: its line begins at the edge of the box.
  const addPorts = (ports, kind) => {
    const some = [...ports.values()];
    if (some.length === 1) return addPort(kind, kind + some[0].leaf.id, some[0].leaf, some[0].items, "");
    const named = some.length <= kMaxPorts ? some : some.slice(0, kMaxPorts - 1);
    for (const { leaf, items } of named) addPort(kind, kind + leaf.id, leaf, items, cropped(leafName(leaf), 24));
    const rest = some.slice(named.length);
    if (!rest.length) return;
    const all = new Set();
    rest.forEach(({ items }) => items.forEach((item) => all.add(item)));
    addPort(kind, kind + "rest", rest[0].leaf, all, rest.length + " more");
  };
  const addPort = (kind, id, leaf, items, text) => {
    const port = { id, kind: "port", side: kind, leaf, text };
    const size = text ? { width: text.length * 6 + 18, height: 18 } : { width: 2, height: 2 };
    shown.set(id, { item: port, ...size });
    graph.setNode(id, { ...size });
    for (const item of items) kind === "in" ? graph.setEdge(id, item.id, {}) : graph.setEdge(item.id, id, {});
  };
  if (module.parent) { addPorts(module.ins, "in"); addPorts(module.outs, "out"); }
  for (const edge of module.edges.values()) graph.setEdge(edge.from.id, edge.to.id, { edge });
  dagre.layout(graph);
  const boxes = graph.nodes().map((id) => {
    const at = graph.node(id), box = shown.get(id);
    return { ...box, x: at.x - box.width / 2, y: at.y - box.height / 2 };
  });
  const paths = graph.edges().map((key) => ({ points: graph.edge(key).points, from: key.v, to: key.w,
    isEnd: !!shown.get(key.w).item.side && !shown.get(key.w).item.text }));
  const whole = graph.graph();
  module.layout = { width: Math.max(whole.width || 0, 60), height: Math.max(whole.height || 0, 40), boxes, paths };
  return module.layout;
}

// What changed there changes everything around it.
function forgetLayout(module) {
  for (let at = module; at; at = at.parent) at.layout = null;
}

// A smooth line through the points.
function pathText(points) {
  const at = (point) => point.x.toFixed(1) + " " + point.y.toFixed(1);
  if (points.length < 3) return "M" + points.map(at).join("L");
  let text = "M" + at(points[0]);
  for (let i = 1; i < points.length - 2; ++i) {
    const middle = { x: (points[i].x + points[i + 1].x) / 2, y: (points[i].y + points[i + 1].y) / 2 };
    text += "Q" + at(points[i]) + " " + at(middle);
  }
  return text + "Q" + at(points[points.length - 2]) + " " + at(points[points.length - 1]);
}
