// Nodes in the tree of modules: what is collapsed, and which edges run inside of which module.
const kMaxChildren = 48;  // of one module; more of them are cut into runs, so that no layout is large

class Module {
  constructor(path, label, parent) {
    Object.assign(this, { path, label, parent, items: [], open: false, nodes: 0, hosts: 0, rescales: 0, first: Infinity,
      last: -1, places: new Map(), layout: null });
    this.id = "m" + Module.count++;
  }
}
Module.count = 0;

// The leaves are entries {node, index} of the graph, {source, index} and {output, index}.
function moduleTree(graph) {
  const root = new Module("", "model", null);
  const modules = new Map([["", root]]);
  const moduleOf = (path) => {
    const known = modules.get(path);
    if (known) return known;
    const cut = path.lastIndexOf(".");
    const parent = moduleOf(cut < 0 ? "" : path.slice(0, cut));
    const made = new Module(path, path.slice(cut + 1), parent);
    modules.set(path, made);
    parent.items.push(made);
    return made;
  };
  const leaves = graph.nodes.map((node, index) => ({ kind: "node", node, index, id: "n" + index, first: index }));
  // A conversion has no module of its own: it stands with the node that reads it.
  const readers = graph.nodes.map(() => []);
  graph.nodes.forEach((node, index) => node.from.forEach((from) => from >= 0 && readers[from].push(index)));
  const pathOf = (index) => {
    const node = graph.nodes[index];
    if (node.module || node.kind === "op") return node.module || "";
    return readers[index].length ? graph.nodes[readers[index][0]].module || "" : "";
  };
  leaves.forEach((leaf) => { leaf.parent = moduleOf(pathOf(leaf.index)); leaf.parent.items.push(leaf); });
  const sources = graph.sources.map((source, index) => ({ kind: "source", source, index, id: "s" + index, first: -1, parent: root }));
  const outputs = graph.outputs.map((output, index) => ({ kind: "output", output, index, id: "o" + index, first: Infinity, parent: root }));
  finish(root);
  root.items = [...sources, ...root.items, ...outputs];
  root.open = true;
  return { root, leaves, sources, outputs, readers };
}

// Counts, drops levels that hold one thing alone, and cuts what is wide into runs.
function finish(module) {
  for (const item of module.items) if (item instanceof Module) finish(item);
  module.items = module.items.map((item) => {
    if (!(item instanceof Module) || item.items.length !== 1) return item;
    const only = item.items[0];
    if (only instanceof Module) only.label = item.label + "." + only.label;
    only.parent = module;
    return only;
  });
  for (const item of module.items) {
    module.first = Math.min(module.first, item.first);
    module.last = Math.max(module.last, item instanceof Module ? item.last : item.index);
  }
  module.items.sort((a, b) => a.first - b.first);
  while (module.items.length > kMaxChildren) cutIntoRuns(module);
  count(module);
}

function count(module) {
  Object.assign(module, { nodes: 0, hosts: 0, rescales: 0, places: new Map() });
  const add = (place, number) => module.places.set(place, (module.places.get(place) || 0) + number);
  for (const item of module.items) {
    if (item instanceof Module) {
      module.nodes += item.nodes; module.hosts += item.hosts; module.rescales += item.rescales;
      item.places.forEach((number, place) => add(place, number));
    } else {
      module.nodes += 1;
      module.hosts += item.node.place < 0 && item.node.kind === "op" ? 1 : 0;
      module.rescales += item.node.kind === "rescale" ? 1 : 0;
      add(item.node.place, 1);
    }
  }
}

function cutIntoRuns(module) {
  const runs = Math.ceil(module.items.length / (kMaxChildren - 8));
  const size = Math.ceil(module.items.length / runs);
  const cut = [];
  for (let begin = 0; begin < module.items.length; begin += size) {
    const part = module.items.slice(begin, begin + size);
    const name = (item) => (item instanceof Module ? item.label : item.node.name);
    const run = new Module(module.path, name(part[0]) + " \u2026 " + name(part[part.length - 1]), module);
    run.items = part;
    run.isRun = true;
    run.first = part[0].first;
    run.last = Math.max(...part.map((item) => (item instanceof Module ? item.last : item.index)));
    part.forEach((item) => { item.parent = run; });
    count(run);
    cut.push(run);
  }
  module.items = cut;
}

// The items of the tree above a leaf, the root first, the leaf itself last.
function chainOf(item) {
  const chain = [];
  for (let at = item; at; at = at.parent) chain.unshift(at);
  return chain;
}

// Every edge goes to the innermost module that holds both ends; where an end lies deeper, the modules on the way there
// get a port. Each module gets: edges: Map "a>b" -> {a, b, count}, ins and outs: Map leaf id -> {leaf, items}.
function placeEdges(tree) {
  const chains = new Map();
  const chain = (leaf) => {
    if (!chains.has(leaf.id)) chains.set(leaf.id, chainOf(leaf));
    return chains.get(leaf.id);
  };
  const prepared = (module) => {
    if (!module.edges) Object.assign(module, { edges: new Map(), ins: new Map(), outs: new Map() });
    return module;
  };
  const join = (a, b) => {
    const up = chain(a), down = chain(b);
    let depth = 0;
    while (up[depth + 1] === down[depth + 1]) ++depth;
    const edges = prepared(up[depth]).edges;
    const from = up[depth + 1], to = down[depth + 1], key = from.id + ">" + to.id;
    if (edges.has(key)) edges.get(key).count += 1;
    else edges.set(key, { from, to, count: 1, source: a });
    for (let i = depth + 1; i + 1 < down.length; ++i) addPort(prepared(down[i]).ins, a, down[i + 1]);
    for (let i = depth + 1; i + 1 < up.length; ++i) addPort(prepared(up[i]).outs, a, up[i + 1]);
  };
  for (const leaf of tree.leaves) {
    for (const from of leaf.node.from) join(from >= 0 ? tree.leaves[from] : tree.sources[-1 - from], leaf);
  }
  for (const output of tree.outputs) {
    if (output.output.from !== null) join(tree.leaves[output.output.from], output);
  }
  const visit = (module) => { prepared(module); module.items.forEach((item) => item instanceof Module && visit(item)); };
  visit(tree.root);
}
function addPort(ports, leaf, item) {
  if (!ports.has(leaf.id)) ports.set(leaf.id, { leaf, items: new Set() });
  ports.get(leaf.id).items.add(item);
}
