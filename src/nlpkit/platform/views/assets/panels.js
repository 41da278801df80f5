// ---- the tree of topics: merges of the two nearest groups, drawn from right (topics) to left (all)
function makeTree(data, colours, map) {
  const host = section("tree"), merges = data.relations.tree;
  if (!host || !merges) return;
  const K = data.topics.length, nodes = data.topics.map((t, k) => ({ leaves: [k], at: 0, d: 0 }));
  for (const [a, b, d] of merges) nodes.push({ a: nodes[a], b: nodes[b], leaves: [...nodes[a].leaves, ...nodes[b].leaves], d });
  const root = nodes.at(-1), order = [];
  (function walk(node) { if (!node.a) { node.y = order.push(node) - 1; return; } const [u, v] = node.a.leaves.length >= node.b.leaves.length ? [node.a, node.b] : [node.b, node.a]; walk(u); walk(v); node.y = (node.a.y + node.b.y) / 2; })(root);
  const width = roomOf(host, 980), row = 20, textWidth = width < 600 ? 0.66 * width : 400, letters = Math.floor(textWidth / 6.6) - 2, top = Math.max(root.d, 1e-9), height = K * row + 10;
  const X = (node) => 14 + (1 - (node.a ? node.d / top : 0)) * (width - textWidth - 30), Y = (node) => 12 + node.y * row;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "group", "aria-label": "Tree of topics" });
  picture.style.maxWidth = width + "px";
  for (const node of nodes) {
    if (node.a) for (const kid of [node.a, node.b]) picture.append(svg("path", { d: `M${X(kid)},${Y(kid)}H${X(node)}V${Y(node)}`, class: "link-path" }));
  }
  for (const node of nodes) {
    const label = node.a ? `${node.leaves.length} topics, merged at ${short(node.d)}` : data.topics[node.leaves[0]].label;
    const act = () => map && map.showTopics(node.a ? label : data.topics[node.leaves[0]].label, node.leaves);
    const dot = svg("circle", { cx: X(node), cy: Y(node), r: node.a ? 4 : 5, class: "node", tabindex: map ? 0 : null, role: map ? "button" : null, "aria-label": label, onclick: act, onkeydown: (e) => e.key === "Enter" && act() }, svg("title", { text: label }));
    if (!node.a) dot.style.fill = colours[node.leaves[0]];
    picture.append(dot);
    if (!node.a) picture.append(svg("text", { x: X(node) + 11, y: Y(node) + 4, text: ((t) => (t.length > letters ? t.slice(0, letters - 1) + "…" : t))(`${label} (${count(data.topics[node.leaves[0]].size)})`) }));
  }
  host.append(el("div", { class: "bar" }, map ? el("span", { class: "soft", text: "Click a node to see its topics on the map." }) : null, svgButton("tree", () => picture), csvButton("tree", () => [["left", "right", "distance"], ...merges])), picture);
}

// ---- topics in the plane, the words of the one that is chosen, and which words belong to which topics
function makeDistances(data, colours, topics) {
  const host = section("distances"), places = data.relations.places, K = places.length;
  const size = 470, margin = 46, xs = places.map((p) => p[0]), ys = places.map((p) => p[1]);
  const extent = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) || 1;
  const middle = [(Math.max(...xs) + Math.min(...xs)) / 2, (Math.max(...ys) + Math.min(...ys)) / 2];
  const at = (k) => places[k].map((v, i) => size / 2 + ((v - middle[i]) / extent) * (size - 2 * margin));
  const biggest = Math.max(...data.topics.map((t) => t.share)), words = el("div", {});
  const picture = svg("svg", { viewBox: `0 0 ${size} ${size}`, class: "chart", role: "group", "aria-label": "Distances of the topics: circles, their area the share" },
    svg("line", { x1: 0, x2: size, y1: size / 2, y2: size / 2, class: "grid" }), svg("line", { y1: 0, y2: size, x1: size / 2, x2: size / 2, class: "grid" }));
  let chosen = 0;
  const circles = data.topics.map((t, k) => {
    const [cx, cy] = at(k), choose = () => { chosen = k; show(); };
    const circle = svg("circle", { cx, cy, r: 4 + 34 * Math.sqrt(t.share / biggest), fill: colours[k], "fill-opacity": 0.45, stroke: colours[k], tabindex: 0, role: "button", "aria-label": t.label, class: "topic-circle", onclick: choose, onkeydown: (e) => e.key === "Enter" && choose() }, svg("title", { text: `${t.label}: ${percent(t.share)}` }));
    return circle;
  });
  data.topics.map((_, k) => k).sort((a, b) => data.topics[b].share - data.topics[a].share).forEach((k) => picture.append(circles[k]));
  data.topics.forEach((t, k) => { const [cx, cy] = at(k); picture.append(svg("text", { x: cx, y: cy + 4, "text-anchor": "middle", class: "pass", text: String(t.topic) })); });
  const pick = el("select", { onchange: (e) => { chosen = +e.target.value; show(); }, "aria-label": "Topic" }, data.topics.map((t, k) => el("option", { value: k, text: `${t.topic}: ${t.label}` })));
  function show() {
    pick.value = chosen;
    circles.forEach((c, k) => c.setAttribute("stroke-width", k === chosen ? 4 : 1));
    words.replaceChildren(wordBars(data.topics[chosen], topics.ordered(chosen), colours[chosen], 20));
  }
  topics.onOrder(show);
  // of a word that is chosen: the circles are as large as the share of its occurrences that falls to the topic
  topics.sizes = (shares) => circles.forEach((c, k) => c.setAttribute("r", 4 + 34 * Math.sqrt(shares ? shares[k] : data.topics[k].share / biggest)));
  host.append(el("div", { class: "two" }, el("div", {}, el("div", { class: "bar" }, svgButton("distances", () => picture)), picture, el("p", { class: "soft", text: `Principal coordinates; distance: ${data.relations.distance}. Area: share of the documents. The order of the words is set above the table of topics.` })), el("div", {}, el("div", { class: "bar" }, el("label", {}, "Topic", pick)), words)));
  show();
  makeSimilarity(data, host);

  // term × topic: three words of each topic, as shares of the topics' words
  const M = Math.min(K, 40), seen = new Set(), terms = [];
  for (let k = 0; k < M; k++) for (const t of data.topics[k].top.slice(0, 3)) if (!seen.has(t)) { seen.add(t); terms.push(t); }
  const p = data.topics.map((t) => new Map(t.terms.map((w) => [w.t, w.p])));
  const highest = p.map((m) => Math.max(...terms.map((t) => m.get(t) || 0), 1e-12));
  const row = 17, column = M > 20 ? 18 : 24, left = 150, head = 34;
  const matrix = svg("svg", { viewBox: `0 0 ${left + M * column + 20} ${head + terms.length * row + 8}`, class: "chart matrix", role: "img", "aria-label": "Words of the topics: circles, their area the share among the words of a topic" });
  for (let k = 0; k < M; k++) matrix.append(svg("text", { x: left + k * column + column / 2, y: 20, "text-anchor": "middle", text: String(data.topics[k].topic) }, svg("title", { text: data.topics[k].label })), svg("line", { x1: left + k * column + column / 2, x2: left + k * column + column / 2, y1: head - 6, y2: head + terms.length * row, class: "grid" }));
  terms.forEach((t, i) => {
    const y = head + i * row + row / 2;
    matrix.append(svg("text", { x: left - 10, y: y + 4, "text-anchor": "end", text: t.length > 20 ? t.slice(0, 19) + "…" : t }));
    for (let k = 0; k < M; k++) { const v = p[k].get(t); if (v) matrix.append(svg("circle", { cx: left + k * column + column / 2, cy: y, r: Math.max(1, 8 * Math.sqrt(v / highest[k])), fill: colours[k], "fill-opacity": 0.75 }, svg("title", { text: `${t} in ${data.topics[k].label}: ${percent(v)}` }))); }
  });
  matrix.style.maxWidth = left + M * column + 20 + "px";
  host.append(el("h3", { text: "Words by topic" }), el("div", { class: "bar" }, el("span", { class: "soft", text: `Three words of each topic${K > M ? ` (the ${M} largest)` : ""}; area: share among the words of the topic, the largest in each column alike.` }), svgButton("words-by-topic", () => matrix), csvButton("words-by-topic", () => [["word", ...data.topics.slice(0, M).map((t) => t.label)], ...terms.map((t) => [t, ...p.slice(0, M).map((m) => m.get(t) ?? "")])])), el("div", { class: "wide" }, matrix));
}

// ---- another run beside this one: documents (or common words) that flow from its topics to those here
function makeComparison(data, colours) {
  const host = section("compared"), other = data.compared;
  if (!host || !other) return;
  const sides = [other.before, data.topics], sums = sides.map((s, i) => s.map((_, k) => other.flows.reduce((sum, f) => sum + (f[i] === k ? f[2] : 0), 0)));
  const width = 980, inner = [300, 680], gap = 7, total = Math.max(...sums.map((s) => s.reduce((a, b) => a + b, 0)), 1e-9);
  const height = Math.max(260, 22 * Math.max(sides[0].length, sides[1].length)), scale = (height - 40 - gap * Math.max(sides[0].length, sides[1].length)) / total;
  // topics on the left stand as they are; those on the right by the mean place of what flows into them
  const orders = [sides[0].map((_, k) => k), null], rank = orders[0];
  const mean = sides[1].map((_, k) => { let w = 0, s = 0; for (const [a, b, n] of other.flows) if (b === k) { w += n; s += n * rank.indexOf(a); } return w ? s / w : Infinity; });
  orders[1] = sides[1].map((_, k) => k).sort((a, b) => mean[a] - mean[b] || a - b);
  const tops = orders.map((order, i) => { const at = []; let y = 20; for (const k of order) { at[k] = y; y += Math.max(sums[i][k] * scale, 3) + gap; } return at; });
  const bottom = Math.max(...orders.map((order, i) => Math.max(...order.map((k) => tops[i][k] + Math.max(sums[i][k] * scale, 3))))) + 14;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${bottom}`, class: "chart", role: "img", "aria-label": `Topics of ${other.of} and what became of them` });
  const used = [tops[0].slice(), tops[1].slice()];
  const flows = other.flows.slice().sort((f, g) => tops[0][f[0]] - tops[0][g[0]] || tops[1][f[1]] - tops[1][g[1]]);
  for (const [a, b, n] of flows) {
    const h = Math.max(n * scale, 0.6), y0 = used[0][a], y1 = used[1][b], [x0, x1] = inner, m = (x0 + x1) / 2;
    used[0][a] += n * scale;
    used[1][b] += n * scale;
    picture.append(svg("path", { d: `M${x0},${y0}C${m},${y0} ${m},${y1} ${x1},${y1}V${y1 + h}C${m},${y1 + h} ${m},${y0 + h} ${x0},${y0 + h}Z`, fill: colours[b], class: "flow" }, svg("title", { text: `${sides[0][a].label} → ${sides[1][b].label}: ${other.by === "documents" ? count(n) + " documents" : "cosine " + n}` })));
  }
  orders.forEach((order, i) => order.forEach((k) => {
    const h = Math.max(sums[i][k] * scale, 3), label = sides[i][k].label;
    picture.append(svg("rect", { x: i ? inner[1] : inner[0] - 8, y: tops[i][k], width: 8, height: h, fill: i ? colours[k] : NONE }),
      svg("text", { x: i ? inner[1] + 14 : inner[0] - 14, y: tops[i][k] + h / 2 + 4, "text-anchor": i ? "start" : "end", text: `${label.length > 36 ? label.slice(0, 35) + "…" : label} (${count(sides[i][k].size)})` }));
  }));
  host.append(el("div", { class: "bar" }, svgButton("compared", () => picture), csvButton("compared", () => [["before", "now", other.by], ...other.flows.map(([a, b, n]) => [sides[0][a].label, sides[1][b].label, n])])), picture);
}

// ---- how the number of topics was chosen
function makeEvidence(data) {
  const rows = data.evidence;
  if (rows.length < 3) return;
  const names = Object.keys(rows[0]).filter((name) => name !== "k" && typeof rows[0][name] === "number");
  const main = names.includes("score") ? "score" : names[0];
  const lines = (main === "score" ? names : [main]).map((name, i) => ({ name, colour: name === main ? PALETTE[0] : PALETTE[(i + 1) % PALETTE.length], dashed: name !== main, x: rows.map((r) => r.k), y: rows.map((r) => r[name]), marks: name === main ? rows.map((r) => r.chosen) : [] }));
  section("overview").append(el("details", {}, el("summary", { text: "How the number of topics was chosen" }), lineChart(lines, { title: `${lines.map((l) => l.name).join(", ")} by number of topics`, xLabel: "number of topics" }),
    el("ul", { class: "legend" }, lines.map((l) => { const key = el("span", { class: "key" }); key.style.background = l.colour; return el("li", {}, key, l.name); })), csvButton("number-of-topics", () => [["k", ...names, "chosen"], ...rows.map((r) => [r.k, ...names.map((n) => r[n]), r.chosen ? 1 : 0])])));
}

// ---- over time: a small chart for each topic with intervals, all documents or a line for each group, and a line in the table of topics
function makeTime(data, colours, topics) {
  const time = data.over_time, host = section("time");
  if (!time || !host) return;
  const box = el("div", {}), K = data.topics.length, groups = data.time_by_group || [];
  let all = false, common = true, by = 0;
  const top = Math.max(...time.series.flatMap((s) => s.high.filter((v) => v != null)));
  const many = (k) => ({ name: data.topics[k].label, colour: colours[k], x: time.cells.map((_, i) => i), y: time.series[k].share, low: time.series[k].low, high: time.series[k].high, marks: time.series[k].changed });
  const changes = (word) => time.series.map((s, k) => [s, k]).filter(([s]) => s.change === word).map(([, k]) => topicName(data, k)).join("; ");
  function show() {
    const g = by ? groups[by - 1] : null, N = g ? g.share.length : K, shown = listedTopics(data).filter((k) => k < N).slice(0, all ? N : 12);
    const highest = g ? Math.max(...g.high.flat(2).filter((v) => v != null)) : top, size = { width: 300, height: 130, names: (g || time).cells, yFormat: percent, yLow: 0, yHigh: common ? highest : undefined };
    const chart = (k) => (g ? lineChart(g.groups.map((name, i) => ({ name, colour: PALETTE[i], dash: DASHES[i], x: g.cells.map((_, p) => p), y: g.share[k][i], low: g.low[k][i], high: g.high[k][i] })), { title: `Share of ${data.topics[k].label} over time by ${g.name}`, ...size }) : lineChart([many(k)], { title: `Share of ${data.topics[k].label} over time`, ...size }));
    box.replaceChildren(...[g ? lineKey(g.groups, g.name + (g.of > g.groups.length ? `, the ${g.groups.length} most frequent of ${g.of}` : "")) : null, el("div", { class: "small-multiples" }, shown.map((k) => panel(topicName(data, k), chart(k), g ? null : time.series[k].note)))].filter(Boolean));
  }
  const rows = () => (by ? groups[by - 1].share.flatMap((of, k) => of.flatMap((line, i) => line.map((v, p) => { const g = groups[by - 1]; return [k, data.topics[k].label, g.cells[p], g.groups[i], v, g.low[k][i][p], g.high[k][i][p], g.n[i][p]]; }))) : time.series.flatMap((s, k) => time.cells.map((c, i) => [k, data.topics[k].label, c, "", s.share[i], s.low?.[i], s.high?.[i], time.n[i]])));
  const [up, down] = [changes("rises"), changes("falls")];
  host.append(el("p", { text: up || down ? `${up ? `Rising: ${up}. ` : ""}${down ? `Falling: ${down}. ` : ""}(False discovery rate 5 %.)` : time.tested ? "No topic rises or falls more than by chance." : "" }), el("div", { class: "bar" }, groups.length ? choose("Lines for", ["all documents", ...groups.map((g) => g.name)], (v) => { by = v; show(); }) : null, K > 12 ? button("All topics", (e) => { all = !all; e.target.setAttribute("aria-pressed", all); show(); }, { "aria-pressed": "false" }) : null, button("Same scale", (e) => { common = !common; e.target.setAttribute("aria-pressed", common); show(); }, { "aria-pressed": "true" }), csvButton("over-time", () => [["topic", "name", "period", "group", "share", "low", "high", "documents"], ...rows()])), box);
  show();
  const heads = $("#topic-table").tHead.rows[0];
  heads.insertBefore(el("th", { scope: "col", text: "Over time" }), heads.lastElementChild);
  topics.rows.forEach((row, k) => {
    const y = time.series[k].share, most = Math.max(...y.filter((v) => v != null), 1e-9), W = 110, H = 26;
    const points = y.map((v, i) => (v == null ? null : `${(i / Math.max(1, y.length - 1)) * (W - 4) + 2},${H - 3 - (v / most) * (H - 6)}`)).filter(Boolean);
    row.insertBefore(el("td", {}, svg("svg", { class: "spark", viewBox: `0 0 ${W} ${H}`, "aria-hidden": "true" }, svg("path", { d: "M" + points.join("L"), stroke: colours[k], class: "line" }))), row.lastElementChild);
  });
}

// ---- by column: shares of the topics in each value, coloured by what sets them apart from the share in all; topics that differ first
function makeColumns(data) {
  const host = section("columns");
  if (!host) return;
  makeExplained(data, host);
  for (const c of data.by_column) {
    const mean = c.series.map((s) => { let sum = 0, n = 0; s.share.forEach((v, j) => { if (v != null) { sum += v * c.n[j]; n += c.n[j]; } }); return n ? sum / n : 0; });
    const differ = (k) => c.series[k].q != null && c.series[k].q <= 0.05;
    const order = listedTopics(data).sort((a, b) => differ(b) - differ(a) || (differ(a) ? c.series[b].effect - c.series[a].effect : a - b));
    const sure = order.filter(differ), shown = order.slice(0, 40), most = (k) => c.values[c.series[k].share.reduce((best, v, j) => ((v ?? -1) > (c.series[k].share[best] ?? -1) ? j : best), 0)];
    const top = Math.max(1e-9, ...shown.flatMap((k) => c.series[k].share.map((v) => (v == null ? 0 : Math.abs(v - mean[k])))));
    const cell = (k, j) => {
      const s = c.series[k], v = s.share[j];
      if (v == null) return el("td", { class: "n" });
      const node = el("td", { class: "n heat " + (v < mean[k] ? "less" : "more"), title: `${data.topics[k].label} in ${c.values[j]}: ${percent(v)} (${percent(s.low[j])} to ${percent(s.high[j])}) of ${count(c.n[j])} documents; ${points(v - mean[k])} points from all` }, percent(v), el("small", { text: `${(100 * s.low[j]).toFixed(0)}–${(100 * s.high[j]).toFixed(0)}` }));
      node.style.setProperty("--heat", (Math.abs(v - mean[k]) / top).toFixed(3));
      return node;
    };
    const table = () => el("div", { class: "wide" }, el("table", { class: "heatmap" }, el("caption", { text: `% of the documents of a value, with the 95 % interval. Blue: more than in all documents, orange: less; the darker, the further.${shown.length < order.length ? " 40 topics are shown; the CSV has all." : ""}` }), el("thead", {}, el("tr", {}, el("td"), el("th", { scope: "col", text: "all" }), c.values.map((v, j) => el("th", { scope: "col", text: `${v} (${count(c.n[j])})` })))), el("tbody", {}, shown.map((k) => el("tr", {}, el("th", { scope: "row", class: differ(k) ? "differs" : null, text: topicName(data, k) }), el("td", { class: "n", text: percent(mean[k]) }), c.values.map((_, j) => cell(k, j)))))));
    const high = Math.max(...shown.flatMap((k) => c.series[k].high.filter((v) => v != null)));
    const charts = () => el("div", { class: "small-multiples" }, shown.map((k) => panel(topicName(data, k) + (differ(k) ? "" : " (no difference)"), dotChart(c.values.map((name, j) => ({ name, points: [c.series[k].share[j] == null ? null : { v: c.series[k].share[j], low: c.series[k].low[j], high: c.series[k].high[j] }] })), [""], { title: `Share of ${data.topics[k].label} by ${c.name}`, width: 300, low: 0, high, plain: true }))));
    const box = el("div", {}), look = (i) => box.replaceChildren(i ? charts() : table()), small = host.clientWidth < 600;
    host.append(el("h3", { text: c.name }), el("p", { text: sure.length ? `Differ most: ${sure.slice(0, 5).map((k) => `${topicName(data, k)} (most in ${most(k)})`).join("; ")}.` : "" }), c.note ? el("p", { class: "soft", text: c.note }) : null,
      el("div", { class: "bar" }, choose("Show", ["table", "intervals"], look, small ? 1 : 0), csvButton("by-" + c.name, () => [["topic", "name", c.name, "share", "low", "high", "documents", "q"], ...c.series.flatMap((s, k) => c.values.map((v, j) => [k, data.topics[k].label, v, s.share[j], s.low[j], s.high[j], c.n[j], s.q]))])), box);
    look(small ? 1 : 0);
  }
}

// ---- classifiers: scores with intervals, confusion, calibration, learning curves
function makeScores(data) {
  const host = section("scores");
  if (host && data.scores) {
    const row = 24, width = 640, left = 190;
    const picture = (name, scores, most) => {
      const rows = scores.filter((s) => s.low != null);
      if (!rows.length) return;
      const low = Math.min(0, ...rows.map((s) => s.low)), high = Math.max(most, ...rows.map((s) => s.high)) || 1;
      const X = (v) => left + ((v - low) / (high - low)) * (width - left - 70);
      const chart = svg("svg", { viewBox: `0 0 ${width} ${rows.length * row + 30}`, class: "chart", role: "img", "aria-label": name + " with their intervals" }, ticks(low, high, 5).map((t) => [svg("line", { x1: X(t), x2: X(t), y1: 0, y2: rows.length * row, class: "grid" }), svg("text", { x: X(t), y: rows.length * row + 16, "text-anchor": "middle", text: short(t) })]),
        rows.map((s, i) => svg("g", {}, svg("text", { x: left - 10, y: i * row + 16, "text-anchor": "end", text: s.name }), svg("line", { x1: X(s.low), x2: X(s.high), y1: i * row + 12, y2: i * row + 12, stroke: PALETTE[0], "stroke-width": 3 }), svg("circle", { cx: X(s.value), cy: i * row + 12, r: 5, fill: PALETTE[0] }, svg("title", { text: `${s.name}: ${s.value.toFixed(3)} (${s.low.toFixed(3)} to ${s.high.toFixed(3)})` })))));
      host.append(chart, el("div", { class: "bar" }, svgButton(name.toLowerCase(), () => chart), csvButton(name.toLowerCase(), () => [["score", "value", "low", "high"], ...scores.map((s) => [s.name, s.value, s.low, s.high])])));
    };
    picture("Scores", data.scores.filter((s) => !s.error), 1);
    picture("Errors", data.scores.filter((s) => s.error), 0);
  }
  const confusion = section("confusion");
  if (confusion && data.confusion) {
    const { names, counts } = data.confusion, sums = counts.map((r) => r.reduce((a, b) => a + b, 0));
    confusion.append(heatTable("Rows: labels; columns: predictions; colour: share of the row.", names.map((n, i) => `${n} (${count(sums[i])})`), names, (i, j) => ({ v: sums[i] ? counts[i][j] / sums[i] : 0, title: `${count(counts[i][j])} of ${names[i]} predicted as ${names[j]}` }), { format: (v) => (v ? percent(v) : "") }), el("div", { class: "bar" }, csvButton("confusion", () => [["label", ...names], ...counts.map((r, i) => [names[i], ...r])])));
  }
  const calibration = section("calibration");
  if (calibration && data.calibration) {
    const bins = data.calibration.filter((b) => b.n);
    const chart = lineChart([{ name: "as it should be", colour: NONE, dashed: true, x: [0, 1], y: [0, 1] }, { name: "observed", colour: PALETTE[0], x: bins.map((b) => b.confidence), y: bins.map((b) => b.accuracy), marks: bins.map(() => true) }], { title: "Accuracy by the probability of the prediction", yLow: 0, yHigh: 1, xLabel: "mean probability of the prediction", width: 520, height: 320 });
    chart.style.maxWidth = "560px";
    calibration.append(chart, el("div", { class: "bar" }, svgButton("calibration", () => chart), csvButton("calibration", () => [["from", "to", "documents", "mean probability", "accuracy"], ...bins.map((b) => [b.low, b.high, b.n, b.confidence, b.accuracy])])));
  }
  const learning = section("learning");
  if (learning && data.learning) for (const c of data.learning) {
    const chart = lineChart(c.lines.map((l, i) => ({ ...l, colour: PALETTE[i % PALETTE.length] })), { title: c.title, xLabel: c.x });
    learning.append(el("h3", { text: c.title }), chart, el("ul", { class: "legend" }, c.lines.map((l, i) => { const key = el("span", { class: "key" }); key.style.background = PALETTE[i % PALETTE.length]; return el("li", {}, key, l.name); })), el("div", { class: "bar" }, svgButton("learning", () => chart), csvButton("learning", () => [["line", c.x, "value"], ...c.lines.flatMap((l) => l.x.map((x, i) => [l.name, x, l.y[i]]))])));
  }
}
