// ---- the tree of topics: merges of the two nearest groups, drawn from right (topics) to left (all)
function makeTree(data, colours, selection) {
  const host = section("tree"), merges = data.relations.tree;
  if (!host || !merges) return;
  // hidden topics are left off: a merge with nothing is what it is merged with
  const shown = shownTopics(data), K = shown.length, nodes = data.topics.map((t, k) => ({ leaves: shown.includes(k) ? [k] : [], d: 0 }));
  for (const [i, j, d] of merges) { const a = nodes[i], b = nodes[j]; nodes.push(!a.leaves.length ? b : !b.leaves.length ? a : { a, b, leaves: [...a.leaves, ...b.leaves], d }); }
  if (!K) return;
  const root = nodes.at(-1), order = [];
  (function walk(node) { if (!node.a) { node.y = order.push(node) - 1; return; } const [u, v] = node.a.leaves.length >= node.b.leaves.length ? [node.a, node.b] : [node.b, node.a]; walk(u); walk(v); node.y = (node.a.y + node.b.y) / 2; })(root);
  const width = roomOf(host, 980), row = 20, textWidth = width < 600 ? 0.66 * width : 400, letters = floor(textWidth / 6.6) - 2, top = max(root.d, 1e-9), height = K * row + 10;
  const X = (node) => 14 + (1 - (node.a ? node.d / top : 0)) * (width - textWidth - 30), Y = (node) => 12 + node.y * row;
  const picture = drawing(width, height, "Tree of topics", width, "group");
  const drawn = [...new Set(nodes)].filter((node) => node.leaves.length);
  for (const node of drawn) {
    if (node.a) for (const kid of [node.a, node.b]) picture.append(svg("path", { d: `M${X(kid)},${Y(kid)}H${X(node)}V${Y(node)}`, class: "link-path" }));
  }
  for (const node of drawn) {
    const label = node.a ? `${node.leaves.length} topics, merged at ${short(node.d)}` : data.topics[node.leaves[0]].label;
    const act = () => selection.topics(node.leaves);
    const dot = svg("circle", { cx: X(node), cy: Y(node), r: node.a ? 4 : 5, class: "node", "aria-label": label, ...pressable(act) }, hover(label));
    if (!node.a) dot.style.fill = colours[node.leaves[0]];
    picture.append(dot);
    if (!node.a) picture.append(svg("text", { x: X(node) + 11, y: Y(node) + 4, text: ((t) => (t.length > letters ? t.slice(0, letters - 1) + "…" : t))(`${label} (${count(data.topics[node.leaves[0]].size)})`) }));
  }
  host.append(bar(el("span", { class: "soft", text: "Click a node to select its topics." }), svgButton("tree", () => picture), csvButton("tree", () => [["left", "right", "distance"], ...merges])), picture);
}

// ---- topics in the plane, the words of the one that is chosen, and which words belong to which topics
function makeDistances(data, colours, topics) {
  const host = section("distances"), places = data.relations.places, K = places.length;
  const size = roomOf(host, 470), margin = 46, xs = places.map((p) => p[0]), ys = places.map((p) => p[1]);
  const extent = max(max(...xs) - min(...xs), max(...ys) - min(...ys)) || 1;
  const middle = [(max(...xs) + min(...xs)) / 2, (max(...ys) + min(...ys)) / 2];
  const at = (k) => places[k].map((v, i) => size / 2 + ((v - middle[i]) / extent) * (size - 2 * margin));
  const biggest = max(...data.topics.map((t) => t.share)), words = el("div", {}), radius = (share) => (size / 470) * (4 + 34 * sqrt(share));
  const picture = drawing(size, size, "Distances of the topics: circles, their area the share", 0, "group");
  picture.append(svg("line", { x1: 0, x2: size, y1: size / 2, y2: size / 2, class: "grid" }), svg("line", { y1: 0, y2: size, x1: size / 2, x2: size / 2, class: "grid" }));
  let chosen = 0;
  const circles = data.topics.map((t, k) => {
    const [cx, cy] = at(k), choose = () => { chosen = k; show(); };
    const circle = svg("circle", { cx, cy, r: radius(t.share / biggest), fill: colours[k], "fill-opacity": 0.45, stroke: colours[k], "aria-label": t.label, class: "topic-circle", ...pressable(choose) }, hover(`${t.label}: ${percent(t.share)}`));
    return circle;
  });
  const seen = shownTopics(data);
  chosen = seen[0] ?? 0;
  for (const k of seen.slice().sort((a, b) => data.topics[b].share - data.topics[a].share)) picture.append(circles[k]);
  for (const k of seen) { const [cx, cy] = at(k); picture.append(svg("text", { x: cx, y: cy + 4, "text-anchor": "middle", class: "pass halo", text: seen.length > 40 ? data.topics[k].topic : data.topics[k].label.split(/[,\s]/)[0].slice(0, 12) })); }
  const pick = el("select", { onchange: (e) => { chosen = +e.target.value; show(); }, "aria-label": "Topic" }, seen.map((k) => el("option", { value: k, text: `${data.topics[k].topic}: ${data.topics[k].label}` })));
  function show() {
    pick.value = chosen;
    circles.forEach((c, k) => c.setAttribute("stroke-width", k === chosen ? 4 : 1));
    words.replaceChildren(wordBars(data.topics[chosen], topics.ordered(chosen), colours[chosen], 20));
  }
  topics.onOrder(show);
  // of a word that is chosen: the circles are as large as the share of its occurrences that falls to the topic
  topics.sizes = (shares) => circles.forEach((c, k) => c.setAttribute("r", radius(shares ? shares[k] : data.topics[k].share / biggest)));
  host.append(el("div", { class: "two" }, el("div", {}, bar(svgButton("distances", () => picture)), picture, soft(`The nearer, the more alike (${data.relations.distance}, of all documents); area: share. Click a circle for its words.`)), el("div", {}, bar(el("label", {}, "Topic", pick)), words)));
  show();
  makeSimilarity(data, host);
}

// ---- another run beside this one: documents (or common words) that flow from its topics to those here
function makeComparison(data, colours) {
  const host = section("compared"), other = data.compared;
  if (!host || !other) return;
  const sides = [other.before, data.topics], hidden = [other.hidden, data.review.hidden || []], sums = sides.map((s, i) => s.map((_, k) => other.flows.reduce((sum, f) => sum + (f[i] === k ? f[2] : 0), 0)));
  // topics on the left stand as they are; those on the right by the mean place of what flows into them
  const orders = sides.map((side, i) => side.map((_, k) => k).filter((k) => !hidden[i].includes(k))), rank = orders[0], most = max(1, ...orders.map((o) => o.length));
  const width = 980, inner = [300, 680], gap = 7, total = max(...sums.map((s) => s.reduce((a, b) => a + b, 0)), 1e-9);
  const height = max(260, 22 * most), scale = (height - 40 - gap * most) / total;
  const mean = sides[1].map((_, k) => { let w = 0, s = 0; for (const [a, b, n] of other.flows) if (b === k) { w += n; s += n * rank.indexOf(a); } return w ? s / w : Infinity; });
  orders[1].sort((a, b) => mean[a] - mean[b] || a - b);
  const tops = orders.map((order, i) => { const at = []; let y = 20; for (const k of order) { at[k] = y; y += max(sums[i][k] * scale, 3) + gap; } return at; });
  const bottom = max(...orders.map((order, i) => max(...order.map((k) => tops[i][k] + max(sums[i][k] * scale, 3))))) + 14;
  const picture = drawing(width, bottom, `Topics of ${other.of} and what became of them`);
  const used = [tops[0].slice(), tops[1].slice()];
  const flows = other.flows.slice().sort((f, g) => tops[0][f[0]] - tops[0][g[0]] || tops[1][f[1]] - tops[1][g[1]]);
  for (const [a, b, n] of flows) {
    const h = max(n * scale, 0.6), y0 = used[0][a], y1 = used[1][b], [x0, x1] = inner, m = (x0 + x1) / 2;
    used[0][a] += n * scale;
    used[1][b] += n * scale;
    picture.append(svg("path", { d: `M${x0},${y0}C${m},${y0} ${m},${y1} ${x1},${y1}V${y1 + h}C${m},${y1 + h} ${m},${y0 + h} ${x0},${y0 + h}Z`, fill: colours[b], class: "flow" }, hover(`${sides[0][a].label} → ${sides[1][b].label}: ${other.by === "documents" ? count(n) + " documents" : "cosine " + n}`)));
  }
  orders.forEach((order, i) => order.forEach((k) => {
    const h = max(sums[i][k] * scale, 3), label = sides[i][k].label;
    picture.append(svg("rect", { x: i ? inner[1] : inner[0] - 8, y: tops[i][k], width: 8, height: h, fill: i ? colours[k] : NONE }),
      svg("text", { x: i ? inner[1] + 14 : inner[0] - 14, y: tops[i][k] + h / 2 + 4, "text-anchor": i ? "start" : "end", text: `${label.length > 36 ? label.slice(0, 35) + "…" : label} (${count(sides[i][k].size)})` }));
  }));
  host.append(bar(svgButton("compared", () => picture), csvButton("compared", () => [["before", "now", other.by], ...other.flows.map(([a, b, n]) => [sides[0][a].label, sides[1][b].label, n])])), picture);
}

// ---- how the number of topics was chosen
function makeEvidence(data) {
  const rows = data.evidence;
  if (rows.length < 3) return;
  const names = Object.keys(rows[0]).filter((name) => name !== "k" && typeof rows[0][name] === "number");
  const main = names.includes("score") ? "score" : names[0];
  const lines = (main === "score" ? names : [main]).map((name, i) => ({ name, colour: name === main ? PALETTE[0] : PALETTE[(i + 1) % PALETTE.length], dashed: name !== main, x: rows.map((r) => r.k), y: rows.map((r) => r[name]), marks: name === main ? rows.map((r) => r.chosen) : [] }));
  section("overview").append(el("details", {}, el("summary", { text: "How the number of topics was chosen" }), lineChart(lines, { title: `${lines.map((l) => l.name).join(", ")} by number of topics`, xLabel: "number of topics" }),
    colourKey(lines), csvButton("number-of-topics", () => [["k", ...names, "chosen"], ...rows.map((r) => [r.k, ...names.map((n) => r[n]), r.chosen ? 1 : 0])])));
}

// ---- shares of selected documents in cells, such as periods, with Wilson's intervals; of: which of K a document has, or -1; flags: those that count
function sharesAmong(cells, C, K, of, flags) {
  const n = Array(C).fill(0), counts = Array.from({ length: K }, () => Array(C).fill(0)), z = 1.96;
  cells.forEach((c, i) => { if (c < 0 || (flags && !flags[i])) return; n[c]++; if (of(i) >= 0) counts[of(i)][c]++; });
  const ends = (v, m, sign) => { const p = v / m; return clamp((p + z * z / (2 * m) + sign * z * sqrt((p * (1 - p) + z * z / (4 * m)) / m)) / (1 + z * z / m), 0, 1); };
  const of_n = (f) => (v, c) => (n[c] ? f(v, n[c]) : null);
  return { n, series: counts.map((row) => ({ share: row.map(of_n((v, m) => v / m)), low: row.map(of_n((v, m) => ends(v, m, -1))), high: row.map(of_n((v, m) => ends(v, m, 1))) })) };
}
const NOTHING = "No topic has a selected document.";
const ofSelected = (what) => `Of the documents in this file that are selected whatever their topic and ${what}; by the topic that each has, without tests.`;

// ---- over time: a small chart for each topic with intervals, all documents or a line for each group, and a line in the table of topics
function makeTime(data, colours, topics, selection) {
  const time = data.over_time, host = section("time");
  if (!time || !host) return;
  const box = el("div", {}), K = data.topics.length, C = time.cells.length, groups = data.time_by_group || [], axis = time.cells.map((_, i) => i), said = el("p", {});
  let all = false, common = true, by = 0, now = time, flags = null;
  const changes = (word) => time.series.map((s, k) => [s, k]).filter(([s]) => s.change === word).map(([, k]) => quoted(data, k)).join(", "), [up, down] = [changes("rises"), changes("falls")];
  function show() {
    const g = by ? groups[by - 1] : null, N = g ? g.share.length : K, shown = listedTopics(data).filter((k) => k < N).slice(0, all ? N : 12), some = selection.without("period");
    flags = selection.without("topic", "period");
    now = flags && !g ? sharesAmong(data.arrays.period, C, K, (i) => data.arrays.topic[i], flags) : time;
    said.textContent = flags ? (g ? "These lines are of all documents; they do not follow the selection." : ofSelected("period")) : up || down ? `${up ? `Rising: ${up}. ` : ""}${down ? `Falling: ${down}. ` : ""}(False discovery rate 5 %.)` : time.tested ? "No topic rises or falls more than by chance." : "";
    const top = max(1e-9, ...(g ? g.high.flat(2) : now.series.flatMap((s) => s.high)).filter((v) => v != null)), size = { width: 300, height: 130, names: (g || time).cells, yFormat: percent, yLow: 0, yHigh: common ? top : undefined };
    const line = (s, name, colour, marks) => lineChart([{ name, colour, x: axis, y: s.share, low: s.low, high: s.high, marks }], { title: `Share of ${name} over time`, ...size });
    const chart = (k) => (g ? lineChart(g.groups.map((name, i) => ({ name, colour: PALETTE[i], dash: DASHES[i], x: g.cells.map((_, p) => p), y: g.share[k][i], low: g.low[k][i], high: g.high[k][i] })), { title: `Share of ${data.topics[k].label} over time by ${g.name}`, ...size }) : line(now.series[k], data.topics[k].label, colours[k], time.series[k].changed));
    if (some) { const s = sharesAmong(data.arrays.period, C, 1, (i) => some[i] - 1).series[0]; size.yHigh = common ? max(top, ...s.high.filter((v) => v != null)) : undefined; shown.unshift(panel("Selected documents, of all", line(s, "the selected documents", "var(--accent)"))); }
    box.replaceChildren(...[g ? lineKey(g.groups, g.name + (g.of > g.groups.length ? `, the ${g.groups.length} most frequent of ${g.of}` : "")) : null, shown.length ? el("div", { class: "small-multiples" }, shown.map((k) => (k.tagName ? k : panel(topicName(data, k), chart(k), g || flags ? null : time.series[k].note)))) : el("p", { text: NOTHING })].filter(Boolean));
  }
  const rows = () => (by ? groups[by - 1].share.flatMap((of, k) => of.flatMap((line, i) => line.map((v, p) => { const g = groups[by - 1]; return [k, data.topics[k].label, g.cells[p], g.groups[i], v, g.low[k][i][p], g.high[k][i][p], g.n[i][p]]; }))) : now.series.flatMap((s, k) => time.cells.map((c, i) => [k, data.topics[k].label, c, "", s.share[i], s.low?.[i], s.high?.[i], now.n[i]])));
  host.append(said, bar(groups.length ? choose("Lines for", ["all documents", ...groups.map((g) => g.name)], (v) => { by = v; show(); }) : null, K > 12 ? toggle("All topics", false, (on) => { all = on; show(); }) : null, toggle("Same scale", true, (on) => { common = on; show(); }), csvButton("over-time", () => [["topic", "name", "period", "group", "share", "low", "high", "documents"], ...rows()])), box);
  selection.onSettled(show);
  show();
  const heads = $("#topic-table").tHead.rows[0];
  heads.insertBefore(el("th", { scope: "col", text: "Over time" }), heads.lastElementChild);
  topics.rows.forEach((row, k) => {
    const y = time.series[k].share, most = max(...y.filter((v) => v != null), 1e-9), W = 110, H = 26;
    const points = y.map((v, i) => (v == null ? null : `${(i / max(1, y.length - 1)) * (W - 4) + 2},${H - 3 - (v / most) * (H - 6)}`)).filter(Boolean);
    row.insertBefore(el("td", {}, svg("svg", { class: "spark", viewBox: `0 0 ${W} ${H}`, "aria-hidden": "true" }, svg("path", { d: "M" + points.join("L"), stroke: colours[k], class: "line" }))), row.lastElementChild);
  });
}

// ---- by column: shares of the topics in each value, coloured by what sets them apart from the share in all; topics that differ first
function makeColumns(data, selection) {
  const host = section("columns");
  if (!host) return;
  makeExplained(data, host);
  data.by_column.forEach((c, a) => {
    const said = el("p", {}), note = el("p", { class: "soft" }), box = el("div", {}), topic = data.arrays.topic, part = "by." + c.name;
    const known = data.columns.find((o) => o.name === c.name)?.values || [];
    let look = host.clientWidth < 600 ? 1 : 0, now = c;
    function show() {
      const flags = selection.without("topic", part), some = selection.without(part), cells = data.arrays["by_" + a], C = c.values.length;
      now = flags ? sharesAmong(cells, C, data.topics.length, (i) => topic[i], flags) : c;
      const mean = (s, n) => { let sum = 0, N = 0; s.share.forEach((v, j) => { if (v != null) { sum += v * n[j]; N += n[j]; } }); return N ? sum / N : 0; };
      const differ = (k) => !flags && c.series[k].q != null && c.series[k].q <= 0.05, most = (k) => c.values[c.series[k].share.reduce((best, v, j) => ((v ?? -1) > (c.series[k].share[best] ?? -1) ? j : best), 0)];
      const order = listedTopics(data).sort((a, b) => differ(b) - differ(a) || (differ(a) ? c.series[b].effect - c.series[a].effect : a - b)), sure = order.filter(differ);
      const limit = look ? 12 : 40, cut = order.length > limit ? ` ${limit} topics are shown; the CSV has all.` : "", lines = order.slice(0, limit).map((k) => ({ ...now.series[k], n: now.n, mean: mean(now.series[k], now.n), name: topicName(data, k), differs: differ(k) }));
      if (some) { const all = sharesAmong(cells, C, 1, (i) => some[i] - 1); lines.unshift({ ...all.series[0], n: all.n, mean: mean(all.series[0], all.n), name: "Selected documents, of all", differs: true }); }
      said.textContent = flags ? ofSelected(c.name) : sure.length ? `Differ most: ${sure.slice(0, 5).map((k) => `${quoted(data, k)} (most in ${most(k)})`).join(", ")}.` : "";
      note.textContent = flags ? "" : c.note || "";
      if (!lines.length) return box.replaceChildren(el("p", { text: NOTHING }));
      box.replaceChildren(look ? charts(lines, !flags) : table(lines, cut), look && cut ? soft(cut.trim()) : "");
      reachable();
    }
    function table(lines, cut) {
      const top = max(1e-9, ...lines.flatMap((s) => s.share.map((v) => (v == null ? 0 : abs(v - s.mean)))));
      const cell = (s, j) => {
        const v = s.share[j];
        if (v == null) return el("td", { class: "n" });
        const node = el("td", { class: "n heat " + (v < s.mean ? "less" : "more"), title: `${s.name} in ${c.values[j]}: ${percent(v)} (${percent(s.low[j])} to ${percent(s.high[j])}) of ${count(s.n[j])} documents; ${points(v - s.mean)} points from all` }, percent(v), el("small", { text: `${(100 * s.low[j]).toFixed(0)}–${(100 * s.high[j]).toFixed(0)}` }));
        node.style.setProperty("--heat", (abs(v - s.mean) / top).toFixed(3));
        return node;
      };
      const head = (v, j) => { const text = `${v} (${count(now.n[j])})`; return el("th", { scope: "col" }, known.includes(v) ? button(text, () => selection.toggle(part, v), { "aria-pressed": String(selection.is(part, v)), title: "Select its documents" }) : text); };
      return el("div", { class: "wide" }, el("table", { class: "heatmap" }, el("caption", { text: `% of the documents of a value, with the 95 % interval. Blue: more than in all documents, orange: less; the darker, the further.${cut}` }), el("thead", {}, el("tr", {}, el("td"), el("th", { scope: "col", text: "all" }), c.values.map(head))), el("tbody", {}, lines.map((s) => el("tr", {}, el("th", { scope: "row", class: s.differs ? "differs" : null, text: s.name }), el("td", { class: "n", text: percent(s.mean) }), c.values.map((_, j) => cell(s, j)))))));
    }
    function charts(lines, tested) {
      const high = max(1e-9, ...lines.flatMap((s) => s.high.filter((v) => v != null)));
      return el("div", { class: "small-multiples" }, lines.map((s) => panel(s.name + (s.differs || !tested ? "" : " (no difference)"), dotChart(c.values.map((name, j) => ({ name, points: [s.share[j] == null ? null : { v: s.share[j], low: s.low[j], high: s.high[j] }] })), [""], { title: `Share of ${s.name} by ${c.name}`, width: 300, low: 0, high, plain: true }))));
    }
    host.append(el("h3", { text: c.name }), said, note,
      bar(choose("Show", ["table", "intervals"], (v) => { look = v; show(); }, look), csvButton("by-" + c.name, () => [["topic", "name", c.name, "share", "low", "high", "documents", "q"], ...now.series.flatMap((s, k) => c.values.map((v, j) => [k, data.topics[k].label, v, s.share[j], s.low[j], s.high[j], now.n[j], s.q]))])), box);
    selection.onSettled(show);
    show();
  });
}

// ---- classifiers: scores with intervals, confusion, calibration, learning curves
function makeScores(data) {
  const host = section("scores");
  if (host && data.scores) {
    const picture = (name, scores, most) => {
      const rows = scores.filter((s) => s.low != null);
      if (!rows.length) return;
      const chart = dotChart(rows.map((s) => ({ name: s.name, points: [{ v: s.value, low: s.low, high: s.high }] })), [""], { title: name + " with their intervals", width: 640, low: min(0, ...rows.map((s) => s.low)), high: max(most, ...rows.map((s) => s.high)) || 1, format: short });
      host.append(chart, bar(svgButton(name.toLowerCase(), () => chart), csvButton(name.toLowerCase(), () => [["score", "value", "low", "high"], ...scores.map((s) => [s.name, s.value, s.low, s.high])])));
    };
    picture("Scores", data.scores.filter((s) => !s.error), 1);
    picture("Errors", data.scores.filter((s) => s.error), 0);
  }
  const confusion = section("confusion");
  if (confusion && data.confusion) {
    const { names, counts } = data.confusion, sums = counts.map((r) => r.reduce((a, b) => a + b, 0));
    confusion.append(heatTable("Rows: labels; columns: predictions; colour: share of the row.", names.map((n, i) => `${n} (${count(sums[i])})`), names, (i, j) => ({ v: sums[i] ? counts[i][j] / sums[i] : 0, title: `${count(counts[i][j])} of ${names[i]} predicted as ${names[j]}` })), bar(csvButton("confusion", () => [["label", ...names], ...counts.map((r, i) => [names[i], ...r])])));
  }
  const calibration = section("calibration");
  if (calibration && data.calibration) {
    const bins = data.calibration.filter((b) => b.n);
    const chart = lineChart([{ name: "as it should be", colour: NONE, dashed: true, x: [0, 1], y: [0, 1] }, { name: "observed", colour: PALETTE[0], x: bins.map((b) => b.confidence), y: bins.map((b) => b.accuracy), marks: bins.map(() => true) }], { title: "Accuracy by the probability of the prediction", yLow: 0, yHigh: 1, xLabel: "mean probability of the prediction", width: 520, height: 320 });
    chart.style.maxWidth = "560px";
    calibration.append(chart, bar(svgButton("calibration", () => chart), csvButton("calibration", () => [["from", "to", "documents", "mean probability", "accuracy"], ...bins.map((b) => [b.low, b.high, b.n, b.confidence, b.accuracy])])));
  }
  const learning = section("learning"), grid = el("div", { class: "two" });
  learning?.append(grid);
  if (learning && data.learning) for (const c of data.learning) {
    const lines = c.lines.map((l, i) => ({ ...l, colour: PALETTE[i % PALETTE.length] })), chart = lineChart(lines, { title: c.title, xLabel: c.x });
    grid.append(el("div", {}, el("h3", { text: c.title }), chart, colourKey(lines), bar(svgButton("learning", () => chart), csvButton("learning", () => [["line", c.x, "value"], ...c.lines.flatMap((l) => l.x.map((x, i) => [l.name, x, l.y[i]]))]))));
  }
}
