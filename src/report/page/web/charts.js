// Pictures of numbers.

// Counts of a histogram, with lines where its parameters end.
function histogram(of, covers) {
  const width = 320, height = 96, base = 76;
  const low = Math.min(of.min, 0), high = Math.max(of.max, 0);
  const from = covers ? Math.min(low, covers[0]) : low, to = covers ? Math.max(high, covers[1]) : high;
  const x = (number) => 6 + ((number - from) / (to - from)) * (width - 12);
  const step = (x(high) - x(low)) / of.bins.length;
  const bars = of.bins.map((count, i) => count === 0 ? null : s("rect", { class: "bar",
    x: (x(low) + i * step).toFixed(1), width: Math.max(step - 0.6, 0.8).toFixed(1),
    y: (base - Math.sqrt(count / 1000) * 62).toFixed(1), height: (Math.sqrt(count / 1000) * 62).toFixed(1) }));
  const ends = (covers || []).map((end) =>
    s("line", { class: "mark", x1: x(end).toFixed(1), x2: x(end).toFixed(1), y1: 8, y2: base }));
  const words = "from " + short(of.min) + " to " + short(of.max) + ", mean " + short(of.mean) + ", deviation " +
    short(of.deviation) + (of.zeros > 0 ? ", " + (of.zeros * 100).toFixed(1) + " % zeros" : "");
  return h("figure", {},
    s("svg", { class: "chart plot", viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "Histogram " + words },
      bars, ends, s("line", { class: "axis", x1: 6, x2: width - 6, y1: base, y2: base }),
      s("text", { x: 6, y: height - 4 }, short(from)),
      s("text", { x: width - 6, y: height - 4, "text-anchor": "end" }, short(to))),
    h("figcaption", { class: "soft" }, words + (covers ? "; lines: what its quantized values cover" : "")));
}

// Ranges side by side on one scale: the whole, and each member's own.
function rangeBar(own, whole) {
  const width = 240, height = 18;
  const from = Math.min(whole[0], own ? own[0] : 0), to = Math.max(whole[1], own ? own[1] : 0);
  const x = (number) => ((number - from) / (to - from || 1)) * (width - 2) + 1;
  const bar = (range, kind, y, tall) => s("rect", { class: kind, x: x(range[0]).toFixed(1), y, height: tall, rx: 2,
    width: Math.max(1.5, x(range[1]) - x(range[0])).toFixed(1) });
  const words = own ? "own range " + short(own[0]) + " to " + short(own[1]) + " of " + short(whole[0]) + " to " + short(whole[1])
    : "own range unknown";
  return s("svg", { class: "chart", width, height, viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": words },
    bar(whole, "whole", 2, 14), own ? bar(own, "range", 4, 10) : null,
    s("line", { class: "mark", x1: x(0).toFixed(1), x2: x(0).toFixed(1), y1: 0, y2: height }));
}

// Round numbers between two, a few of them; of bytes, round in KiB or MiB.
function steps(low, high, most, isBytes) {
  if (isBytes) {
    const unit = high >= 1048576 ? 1048576 : high >= 1024 ? 1024 : 1;
    return steps(low / unit, high / unit, most).map((mark) => mark * unit);
  }
  const raw = (high - low) / most || 1, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw);
  const marks = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) marks.push(at);
  return marks;
}

// series: [{kind, points: [[x, y]]}]; dots: [{x, y, low, node, words}]
function plot({ label, series, dots, areas, yText, xTitle, height, xEnd, isBytes }) {
  const width = 900, tall = height || 240, left = 62, right = 12, top = 12, bottom = 30;
  const all = series.flatMap((one) => one.points);
  const ys = all.map((point) => point[1]);
  const x0 = 0, x1 = Math.max(xEnd, 1);
  const y0 = Math.min(0, ys.reduce((a, b) => Math.min(a, b), Infinity)), y1 = ys.reduce((a, b) => Math.max(a, b), -Infinity);
  const x = (at) => left + ((at - x0) / (x1 - x0 || 1)) * (width - left - right);
  const y = (at) => tall - bottom - ((at - y0) / (y1 - y0 || 1)) * (tall - top - bottom);
  const line = (points) => points.map((point) => x(point[0]).toFixed(1) + "," + y(point[1]).toFixed(1)).join(" ");
  return s("svg", { class: "chart plot", viewBox: "0 0 " + width + " " + tall, role: "img", "aria-label": label },
    steps(y0, y1, 5, isBytes).map((mark) => [
      s("line", { class: "axis", x1: left, x2: width - right, y1: y(mark).toFixed(1), y2: y(mark).toFixed(1) }),
      s("text", { x: left - 6, y: (y(mark) + 4).toFixed(1), "text-anchor": "end" }, yText(mark))]),
    s("text", { x: width - right, y: tall - 6, "text-anchor": "end" }, xTitle),
    series.map((one) => one.kind === "area"
      ? s("polygon", { class: "area", points: line([[one.points[0][0], y0], ...one.points, [one.points[one.points.length - 1][0], y0]]) })
      : s("polyline", { class: one.kind, points: line(one.points) })),
    (areas || []).map((area) => s("line", { class: "mark", x1: x(area.x).toFixed(1), x2: x(area.x).toFixed(1), y1: top, y2: tall - bottom })),
    (dots || []).map((dot) => s("circle", { class: "dot" + (dot.low ? " low" : ""), cx: x(dot.x).toFixed(1),
      cy: y(dot.y).toFixed(1), r: 3.2, onclick: dot.node === undefined ? null : () => showNode(dot.node) }, s("title", {}, dot.words))));
}
