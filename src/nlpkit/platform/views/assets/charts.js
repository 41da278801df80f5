// ---- charts as SVG; each has a title for screen readers, and the table behind it as CSV
function ticks(low, high, n = 5) {
  const rough = (high - low || 1) / n, power = 10 ** floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const out = [];
  for (let t = ceil(low / step - 1e-9) * step; t <= high + 1e-9 * step; t += step) out.push(abs(t) < 1e-12 ? 0 : t);
  return out;
}
const short = (x) => (abs(x) >= 1000 ? count(x) : String(+x.toPrecision(4)));
// lines: [{name, colour, x, y, low, high, marks}]; x numbers, or positions with labels in options.names
function lineChart(lines, options) {
  const { title, width = 640, height = 240, names, yFormat = short, yLow, yHigh } = options;
  const left = 52, right = 12, top = 10, bottom = options.xLabel ? 38 : 24;
  const all = (key) => lines.flatMap((l) => l[key] || []).filter((v) => v != null);
  const xs = all("x"), ys = [...all("y"), ...all("low"), ...all("high")];
  const x0 = min(...xs), x1 = max(...xs);
  const y0 = yLow ?? min(...ys), y1 = (yHigh ?? max(...ys)) || 1;
  const X = (x) => left + ((x - x0) / (x1 - x0 || 1)) * (width - left - right);
  const Y = (y) => height - bottom - ((y - y0) / (y1 - y0 || 1)) * (height - top - bottom);
  const out = drawing(width, height, title);
  for (const t of ticks(y0, y1, 4)) out.append(svg("line", { x1: left, x2: width - right, y1: Y(t), y2: Y(t), class: "grid" }), svg("text", { x: left - 6, y: Y(t) + 4, "text-anchor": "end", text: yFormat(t) }));
  const every = names ? ceil(names.length / max(1, floor((width - left - right) / 62))) : 1;
  const marks = names ? names.map((_, i) => i).filter((i) => i % every === 0) : ticks(x0, x1, 8);
  for (const t of marks) out.append(svg("text", { x: X(t), y: height - bottom + 16, "text-anchor": names && !t ? "start" : "middle", text: names ? names[t] : short(t) }));
  for (const l of lines) {
    const runs = [];
    l.x.forEach((x, i) => { if (l.y[i] == null) runs.push([]); else { if (!runs.length) runs.push([]); runs.at(-1).push(i); } });
    for (const run of runs.filter((r) => r.length)) {
      if (l.low) out.append(svg("path", { d: "M" + [...run.map((i) => `${X(l.x[i])},${Y(l.low[i])}`), ...run.slice().reverse().map((i) => `${X(l.x[i])},${Y(l.high[i])}`)].join("L") + "Z", fill: l.colour, class: "band" }));
      out.append(svg("path", { d: "M" + run.map((i) => `${X(l.x[i])},${Y(l.y[i])}`).join("L"), stroke: l.colour, class: "line" + (l.dashed ? " dashed" : ""), "stroke-dasharray": l.dash }));
    }
    l.x.forEach((x, i) => {
      if (l.y[i] == null || l.smooth || (l.x.length > 60 && !(l.marks || [])[i])) return;
      const interval = l.low && l.low[i] != null ? ` (${yFormat(l.low[i])} to ${yFormat(l.high[i])})` : "";
      out.append(svg("circle", { cx: X(x), cy: Y(l.y[i]), r: (l.marks || [])[i] ? 5 : 2.5, fill: l.colour }, hover(`${l.name ? l.name + ", " : ""}${names ? names[x] : short(x)}: ${yFormat(l.y[i])}${interval}`)));
    });
  }
  if (options.xLabel) out.append(svg("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle", class: "axis", text: options.xLabel }));
  return out;
}
// rows × columns of shares; cells carry their number, so colour alone says nothing
function heatTable(title, rows, columns, value) {
  const body = rows.map((name, i) => el("tr", {}, el("th", { scope: "row", text: name }), columns.map((_, j) => {
    const { v, title } = value(i, j), node = el("td", { class: "n heat", text: v ? percent(v) : "", title });
    node.style.setProperty("--heat", v.toFixed(3));
    return node;
  })));
  return el("div", { class: "wide" }, el("table", { class: "heatmap" }, el("caption", { text: title }), el("thead", {}, el("tr", {}, el("td"), columns.map((c) => el("th", { scope: "col", text: c })))), el("tbody", {}, body)));
}
// Words of a topic: dark the share among the words of the topic, light the share among all words (as in LDAvis).
// words: {ask, chosen}: what a click on a word calls, and the word that is marked
function wordBars(topic, terms, colour, n = 15, words = null) {
  const shown = terms.slice(0, n), widest = max(1e-12, ...shown.map((t) => max(t.p, t.l > 0 ? t.p / t.l : 0)));
  const width = words ? 290 : 380, row = 19, left = words ? 112 : 130, letters = words ? 16 : 18;
  const W = (p) => max(0, (p / widest) * (width - left - 56));
  return svg("svg", { viewBox: `0 0 ${width} ${shown.length * row + 4}`, class: "chart bars", role: words ? "group" : "img", "aria-label": `Words of the topic ${topic.label}` + (words ? "" : ": " + shown.map((t) => t.t).join(", ")) },
    shown.map((t, i) => {
      const all = t.l > 0 ? t.p / t.l : 0, y = i * row + 3, act = words && (() => words.ask(t.t));
      return svg("g", words ? { ...pressable(act), "data-word": t.t, "aria-pressed": String(words.chosen === t.t), class: "word" + (words.chosen == null || words.chosen === t.t ? "" : " off") } : {}, hover(`${t.t}: ${percent(t.p)} of the words of the topic, ${percent(all)} of all words; ${t.l.toFixed(1)} times as often`),
        words ? svg("rect", { x: 0, y: y - 2, width, height: row - 1, class: "hit" }) : null,
        svg("text", { x: left - 8, y: y + 12, "text-anchor": "end", text: t.t.length > letters ? t.t.slice(0, letters - 1) + "…" : t.t }),
        svg("rect", { x: left, y, width: W(t.p), height: 14, fill: colour }),
        svg("rect", { x: left, y: y + 4, width: W(all), height: 6, class: "all" }),
        svg("text", { x: left + max(W(t.p), W(all)) + 5, y: y + 12, class: "faint", "aria-hidden": words ? "true" : null, text: percent(t.p) }));
    }));
}
const relevance = (t, lambda) => lambda * Math.log(max(t.p, 1e-12)) + (1 - lambda) * Math.log(max(t.l, 1e-12));
