// Values that share a scale: whose range pays for whose.
const lossOf = (group) => group.members.reduce((most, member) => Math.max(most, member.bits_lost || 0), 0);
const groupName = (group) => "group with %" + group.members[0].value;

function groupLink(index) {
  const group = report.groups.rows[index];
  if (!group) return null;
  const others = group.members.length - 1;
  return h("button", { type: "button", class: "button link", onclick: () => showGroup(index) },
    others ? "shares its scale with " + counted(others, "other value") : "has a scale of its own");
}
function showGroup(index) {
  const card = byId("group-" + index) || moreGroups(index);
  if (!card) return;
  card.open = true;
  card.scrollIntoView({ block: "center" });
  card.querySelector("summary").focus({ preventScroll: true });
}
let moreGroups = () => null;

function groupTable(group) {
  const range = group.range, kMaxMembers = 200;
  const members = group.members.slice().sort((a, b) => (b.bits_lost || 0) - (a.bits_lost || 0));
  const columns = [{ title: "Value", cell: (row) => nodeLink(row.node, row.value) }];
  if (range) {
    columns.push({ title: "Own range in the group's", cell: (row) => rangeBar(row.own, range) },
      { title: "From", number: true, cell: (row) => row.own ? short(row.own[0]) : "" }, { title: "To", number: true, cell: (row) => row.own ? short(row.own[1]) : "" },
      { title: "Bits lost", number: true, cell: (row) => row.bits_lost ? row.bits_lost.toFixed(1) : "0" });
  }
  return [table("Members of the " + groupName(group), columns, members.slice(0, kMaxMembers)),
    members.length > kMaxMembers ? h("p", { class: "soft" }, "and " + counted(members.length - kMaxMembers, "more member") + " that lose fewer bits") : null];
}

function groupRow(index) {
  const group = report.groups.rows[index], lost = lossOf(group);
  const card = h("details", { id: "group-" + index }, h("summary", {}, h("strong", {}, counted(group.members.length, "value")), " with ", h("span", { class: "mono" }, "%" + group.members[0].value),
    group.range ? ", range " + short(group.range[0]) + " to " + short(group.range[1]) + ", " + group.storage + " scale " + short(group.scale) + ", zero point " + group.zero_point : ", " + group.storage,
    lost > 0.05 ? [" ", h("span", { class: "tag rescale" }, lost.toFixed(1) + " bits lost")] : "", group.pin ? [" ", h("span", { class: "tag" }, "given by %" + group.pin)] : ""));
  card.addEventListener("toggle", () => { if (card.open && card.children.length === 1) card.append(...groupTable(group).filter(Boolean)); });
  return card;
}

function groupsSection() {
  if (!report.groups) return;
  const { rows, cuts, has_ranges } = report.groups;
  if (!rows.length) return;
  const kFirst = 12;
  const order = rows.map((group, index) => index).sort((a, b) => lossOf(rows[b]) - lossOf(rows[a]) || rows[b].members.length - rows[a].members.length || a - b);
  const list = h("div", {}, order.slice(0, kFirst).map(groupRow));
  let shown = Math.min(kFirst, order.length);
  const more = h("button", { type: "button", class: "button", onclick: () => showAll() }, "Show all " + rows.length);
  const showAll = () => { list.append(...order.slice(shown).map(groupRow)); shown = order.length; more.remove(); };
  moreGroups = (index) => { if (shown < order.length) showAll(); return byId("group-" + index); };
  section("groups", "Scales", "Shared scales", counted(rows.length, "group") + (has_ranges ? "; those that lose most first" : "; ranges are known only with data"),
    list, rows.length > kFirst ? more : null,
    cuts.length ? [h("h3", {}, counted(cuts.length, "cut") + ": a rescale on an edge instead of one scale for both ends"),
      table("Cuts", [{ title: "Value", cell: (row) => h("span", { class: "mono" }, row.value) }, { title: "Reader", cell: (row) => nodeLink(row.node, row.reader) },
        { title: "Bits saved", number: true, cell: (row) => row.bits.toFixed(1) }, { title: "Price", number: true, cell: (row) => bytesText(row.bytes) },
        { title: "Because", cell: (row) => row.because }], cuts)] : null).classList.add("long");
  if (shown > 0 && has_ranges && lossOf(rows[order[0]]) > 0.05) list.firstChild.open = true;
}
