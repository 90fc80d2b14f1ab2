// Finds nodes by name, op, module or source line.
function searchBox() {
  const found = { rows: [], at: -1 };
  const list = h("ul", { id: "found", role: "listbox", "aria-label": "Nodes found", hidden: true });
  const status = h("span", { class: "unseen", role: "status" });
  const input = h("input", { type: "search", id: "search", role: "combobox", placeholder: "Search: name, op, module or source line",
    "aria-label": "Search nodes by name, op, module or source line", "aria-expanded": "false", "aria-controls": "found",
    "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false" });
  const point = (at) => {
    found.at = at;
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === at)));
    if (at >= 0 && list.children[at]) {
      input.setAttribute("aria-activedescendant", list.children[at].id);
      list.children[at].scrollIntoView({ block: "nearest" });
    } else {
      input.removeAttribute("aria-activedescendant");
    }
  };
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); };
  const take = (index) => { close(); showNode(index); };
  input.addEventListener("input", () => {
    found.rows = matches(input.value);
    list.replaceChildren(...found.rows.slice(0, 60).map((index, i) => {
      const node = report.graph.nodes[index];
      return h("li", { role: "option", id: "found-" + i, "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); take(index); } },
        h("strong", {}, node.op), " ", h("span", { class: "mono" }, node.name), node.place < 0 && node.kind === "op" ? h("span", { class: "tag cpu" }, "CPU") : "",
        h("br"), h("span", { class: "soft" }, originOf(node)));
    }));
    status.textContent = input.value ? counted(found.rows.length, "node") + " found" : "";
    list.hidden = !found.rows.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    point(found.rows.length ? 0 : -1);
    highlight(found.rows);
  });
  input.addEventListener("keydown", (event) => {
    const last = list.children.length - 1;
    if (event.key === "ArrowDown") { event.preventDefault(); point(Math.min(last, found.at + 1)); }
    if (event.key === "ArrowUp") { event.preventDefault(); point(Math.max(0, found.at - 1)); }
    if (event.key === "Enter" && found.at >= 0) { event.preventDefault(); take(found.rows[found.at]); }
    if (event.key === "Escape") { input.value = ""; close(); highlight([]); }
  });
  input.addEventListener("blur", close);
  return h("div", { class: "search", role: "search" }, input, list, status);
}

// Indices of nodes that have every word; those whose name or op begins with the first one come first.
function matches(text) {
  const words = text.toLowerCase().trim().split(/\s+/).filter(Boolean).map((word) => word.replace(/^%/, ""));
  if (!words.length) return [];
  const rank = (node) => node.name.toLowerCase() === words[0] ? 0 : node.op.toLowerCase() === words[0] ? 1
    : node.name.toLowerCase().startsWith(words[0]) ? 2 : 3;
  return report.graph.nodes.map((node, index) => ({ node, index }))
    .filter(({ node }) => {
      const all = [node.name, node.op, node.module, node.source, node.call, placeOf(node), ...(node.aliases || [])].filter(Boolean).join("\n").toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .sort((a, b) => rank(a.node) - rank(b.node) || a.index - b.index).map(({ index }) => index);
}

// An open module shows what it has inside.
const isHit = (item) => view.hits.has(item.id) && !(item instanceof Module && item.open);

// Nodes found, and the modules that hide them.
function highlight(rows) {
  view.hits = new Set();
  for (const index of rows) {
    let at = tree.leaves[index];
    view.hits.add(at.id);
    for (at = at.parent; at && at.parent; at = at.parent) if (!at.open) view.hits.add(at.id);
  }
  for (const { group, item } of view.elements.values()) group.classList.toggle("hit", isHit(item));
}
