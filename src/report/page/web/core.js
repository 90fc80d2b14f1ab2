// The data, elements, numbers in words, the theme.
const report = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// An element. Text is always text: nothing from the data becomes markup.
function make(namespace, tag, props, children) {
  const element = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "vars") for (const [name, set] of Object.entries(value)) element.style.setProperty(name, set);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
const h = (tag, props, ...children) => make(null, tag, props, children);
const s = (tag, props, ...children) => make("http://www.w3.org/2000/svg", tag, props, children);

const separated = (number) => Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
function bytesText(bytes) {
  if (bytes === undefined || bytes === null) return "";
  if (bytes < 1024) return bytes + " B";
  return bytes < 1048576 ? (bytes / 1024).toFixed(1) + " KiB" : (bytes / 1048576).toFixed(1) + " MiB";
}
function short(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  return size >= 1e5 || size < 1e-3 ? number.toExponential(2) : String(Number(number.toPrecision(4)));
}
const kExactDb = 200;
const dbText = (db) => (db >= kExactDb ? "exact" : db.toFixed(1) + " dB");
const counted = (count, noun) => separated(count) + " " + noun + (count === 1 ? "" : "s");
const placeOf = (node) => (node.place < 0 ? "CPU" : report.graph.segments[node.place]);
const originOf = (node) => [node.source, node.call, node.module && "in " + node.module].filter(Boolean).join(" ");

// A card with a heading, and its entry among the sections at the top.
function section(id, entry, title, note, ...children) {
  const card = h("section", { id, class: "card", "aria-labelledby": id + "-title" },
    h("header", {}, h("h2", { id: id + "-title" }, title), note ? h("p", {}, note) : null), children);
  byId("content").append(card);
  byId("sections").append(h("li", {}, h("a", { href: "#" + id }, entry)));
  return card;
}

// columns: {title, number, cell(row)}
function table(caption, columns, rows, rowProps) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, h("table", {},
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, columns.map((column) =>
      h("th", { scope: "col", class: column.number ? "number" : null }, column.title)))),
    h("tbody", {}, rows.map((row) => h("tr", rowProps ? rowProps(row) : {}, columns.map((column) =>
      h("td", { class: column.number ? "number" : null }, column.cell(row))))))));
}

// A button that shows a node in the graph.
function nodeLink(index, text) {
  if (index === null || index === undefined) return h("span", { class: "mono" }, text);
  return h("button", { type: "button", class: "button link mono", onclick: () => showNode(index) }, text);
}

const themes = ["system", "light", "dark"];
function applyTheme(wanted) {
  const dark = wanted === "dark" || (wanted === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.documentElement.dataset.wanted = wanted;
  byId("theme").textContent = "Theme: " + wanted;
  byId("theme").setAttribute("aria-label", "Theme: " + wanted + ". Change it");
}
function startTheme() {
  let stored = null;
  try { stored = localStorage.getItem("isthmus-theme"); } catch (error) { stored = null; }  // a file may have no storage
  applyTheme(themes.includes(stored) ? stored : "system");
  byId("theme").addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.wanted) + 1) % themes.length];
    applyTheme(next);
    try { localStorage.setItem("isthmus-theme", next); } catch (error) { /* it holds until the page is closed */ }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    applyTheme(document.documentElement.dataset.wanted));
}
