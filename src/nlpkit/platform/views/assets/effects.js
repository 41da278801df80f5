// ---- names of topics, marked where they are not to be relied on; lines that are told apart without colours, too
const topicName = (data, k) => data.topics[k].label + (data.topics[k].stability != null && data.topics[k].stability < data.least_stable ? " !" : "");
const quoted = (data, k) => `“${topicName(data, k)}”`;
const DASHES = [null, "6 4", "2 3", "8 3 2 3", "1 2", "12 3", "5 2", "3 6"];
const MARKS = ["M-4,0A4,4 0 1,1 4,0A4,4 0 1,1 -4,0Z", "M-4,-4H4V4H-4Z", "M0,-5L5,4H-5Z", "M0,-5.5L5.5,0L0,5.5L-5.5,0Z", "M0,5L5,-4H-5Z", "M-5,-1.5H-1.5V-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5Z"];
const points = (x) => (x > 0 ? "+" : "") + (100 * x).toFixed(1);
const roomOf = (host, most) => clamp(host.clientWidth || most, 280, most);
function lineKey(lines, heading) {
  if (lines.length < 2) return null;
  return el("ul", { class: "legend" }, heading ? el("li", { class: "soft", text: heading + ":" }) : null, lines.map((name, i) => el("li", {}, svg("svg", { width: 34, height: 14, "aria-hidden": "true", class: "line-key" }, svg("path", { d: "M1,7H33", class: "line", stroke: PALETTE[i], "stroke-dasharray": DASHES[i] }), svg("path", { d: MARKS[i % MARKS.length], transform: "translate(17,7)", fill: PALETTE[i] })), name)));
}
// rows of points with intervals on one axis: rows [{name, points: [{v, low, high} or null]}], a point for each line
function dotChart(rows, lines, { title, width, format = percent, zero = false, low, high, plain = false }) {
  const all = rows.flatMap((r) => r.points).filter(Boolean), narrow = width < 520 && !plain, step = 13;
  const a = low ?? min(zero ? 0 : Infinity, ...all.map((p) => p.low)), b = high ?? max(zero ? 0 : -Infinity, ...all.map((p) => p.high));
  const letters = plain ? 15 : narrow ? floor(width / 6.6) : 40, left = narrow ? 18 : min(plain ? 116 : 300, 14 + 6.7 * min(letters, max(...rows.map((r) => r.name.length)))), right = 20;
  const tall = max(plain ? 17 : 22, 8 + step * lines.length) + (narrow ? 15 : 0), height = rows.length * tall + 26;
  const X = (v) => left + ((v - a) / (b - a || 1)) * (width - left - right);
  const cut = (t) => (t.length > letters ? t.slice(0, letters - 1) + "…" : t);
  const out = drawing(width, height, title, width);
  for (const t of ticks(a, b, plain ? 3 : width < 420 ? 5 : 6)) out.append(svg("line", { x1: X(t), x2: X(t), y1: 0, y2: rows.length * tall, class: zero && t === 0 ? "zero" : "grid" }), svg("text", { x: X(t), y: height - 8, "text-anchor": "middle", class: "faint", text: format(t) }));
  rows.forEach((r, i) => {
    const top = i * tall + (narrow ? 15 : 0), mid = top + (tall - (narrow ? 15 : 0)) / 2;
    out.append(svg("text", narrow ? { x: 0, y: top - 2 } : { x: left - 10, y: mid + 4, "text-anchor": "end" }, cut(r.name)));
    r.points.forEach((p, j) => {
      if (!p) return;
      const y = mid + (j - (lines.length - 1) / 2) * step, sure = !zero || p.low > 0 || p.high < 0, colour = PALETTE[j];
      out.append(svg("g", {}, hover(`${r.name}${lines[j] ? ", " + lines[j] : ""}: ${format(p.v)} (${format(p.low)} to ${format(p.high)})`), svg("line", { x1: X(p.low), x2: X(p.high), y1: y, y2: y, stroke: colour, "stroke-width": 2 }), svg("path", { d: MARKS[j % MARKS.length], transform: `translate(${X(p.v)},${y})`, stroke: colour, "stroke-width": 1.6, fill: sure ? colour : "var(--bg)" })));
    });
  });
  return out;
}
const choose = (label, names, onchange, value) => { const node = el("select", { onchange: (e) => onchange(+e.target.value) }, names.map((n, i) => el("option", { value: i, text: n }))); if (value != null) node.value = value; return el("label", {}, label, node); };
const panel = (name, chart, note) => el("figure", {}, el("figcaption", { text: name }), chart, note ? soft(note) : null);

// ---- effects of covariates: differences of two values on one axis, shares at all values, lines with bands
function makeEffects(data) {
  const host = section("effects"), given = data.effects;
  if (!host || !given) return;
  const K = data.topics.length, columns = given.columns, box = el("div", {}), controls = el("div", { class: "bar" });
  let c = max(0, columns.findIndex((e) => e.type === "category")), ends = [1, 0], shares = false, all = false;
  const at = (e, m, k, i) => { const s = given.t * sqrt(max(e.cov[m][k][i][i], 0)), v = e.mean[m][k][i]; return { v, low: v - s, high: v + s }; };
  const between = (e, m, k) => {
    const [i, j] = ends, [mean, C] = [e.mean[m][k], e.cov[m][k]], v = mean[i] - mean[j], s = given.t * sqrt(max(C[i][i] + C[j][j] - 2 * C[i][j], 0));
    return { v, low: v - s, high: v + s };
  };
  function show() {
    const e = columns[c], lines = e.lines, heads = ["topic", "name", ...(e.moderator ? [e.moderator] : [])], many = K > 12;
    const more = many ? toggle("All topics", all, (on) => { all = on; show(); }) : null;
    const shown = listedTopics(data).slice(0, all ? K : 12);
    let picture, rows, names, said = null;
    if (e.type === "category" && !shares) {
      const order = shownTopics(data).map((k) => ({ k, points: lines.map((_, m) => between(e, m, k)) })).sort((a, b) => b.points[0].v - a.points[0].v);
      names = [...heads, "difference", "low", "high"];
      rows = order.flatMap((r) => r.points.map((p, m) => [r.k, data.topics[r.k].label, ...(e.moderator ? [lines[m]] : []), p.v, p.low, p.high]));
      const sure = order.filter((r) => r.points.some((p) => p.low > 0 || p.high < 0)), list = (sign) => sure.filter((r) => sign * r.points[0].v > 0).sort((a, b) => sign * (b.points[0].v - a.points[0].v)).slice(0, 5).map((r) => `${quoted(data, r.k)} (${points(r.points[0].v)})`).join(", ");
      const [a, b] = ends.map((i) => e.values[i]);
      said = sure.length ? `More at ${e.name} ${a} than at ${b}: ${list(1) || "none"}. Less: ${list(-1) || "none"}. Percentage points of a document; the other intervals hold 0.` : `No topic differs between ${e.name} ${a} and ${b}: all intervals hold 0.`;
      picture = dotChart(order.map((r) => ({ name: topicName(data, r.k), points: r.points })), lines, { title: `${e.name}: share of the topics at ${a} less at ${b}, in percentage points, with intervals`, width: roomOf(host, 860), format: points, zero: true });
    } else if (e.type === "category") {
      names = [...heads, e.name, "share", "low", "high"];
      rows = data.topics.flatMap((t, k) => lines.flatMap((l, m) => e.values.map((v, i) => { const p = at(e, m, k, i); return [k, t.label, ...(e.moderator ? [l] : []), v, p.v, p.low, p.high]; })));
      const high = max(...rows.map((r) => r.at(-1))), low = min(0, ...rows.map((r) => r.at(-2)));
      picture = el("div", { class: "small-multiples" }, shown.map((k) => panel(topicName(data, k), dotChart(e.values.map((v, i) => ({ name: v, points: lines.map((_, m) => at(e, m, k, i)) })), lines, { title: `Share of ${data.topics[k].label} by ${e.name}`, width: 300, low, high, plain: true }))));
    } else {
      names = [...heads, e.name, "share", "low", "high"];
      const value = (x) => (e.type === "date" ? day(x) : x);
      rows = data.topics.flatMap((t, k) => lines.flatMap((l, m) => e.x.map((x, i) => [k, t.label, ...(e.moderator ? [l] : []), value(x), e.share[m][k][i], e.low[m][k][i], e.high[m][k][i]])));
      const yHigh = max(...rows.map((r) => r.at(-1))), yLow = min(0, ...rows.map((r) => r.at(-2)));
      picture = el("div", { class: "small-multiples" }, shown.map((k) => panel(topicName(data, k), lineChart(lines.map((l, m) => ({ name: l, colour: PALETTE[m], dash: DASHES[m], smooth: true, x: e.type === "date" ? e.x.map((_, i) => i) : e.x, y: e.share[m][k], low: e.low[m][k], high: e.high[m][k] })), { title: `Share of ${data.topics[k].label} by ${e.name}`, width: 300, height: 150, names: e.type === "date" ? e.x.map(day) : null, yFormat: percent, yLow, yHigh }))));
    }
    const two = e.type === "category" && !shares ? [0, 1].map((i) => choose(i ? "less" : "Share at", e.values, (v) => { ends[i] = v; show(); }, ends[i])) : null;
    controls.replaceChildren(...[choose("Effect of", columns.map((o) => o.name + (o.moderator ? " by " + o.moderator : "")), (v) => { c = v; ends = [min(1, (columns[v].values || [0]).length - 1), 0]; show(); }, c), e.type === "category" ? choose("Show", ["difference of two values", "shares at all values"], (v) => { shares = v === 1; show(); }, shares ? 1 : 0) : null, two, two || !many ? null : more, picture.tagName === "svg" ? svgButton("effects", () => picture) : null, csvButton("effects-" + e.name, () => [names, ...rows])].flat().filter(Boolean));
    box.replaceChildren(...[said ? el("p", { text: said, "aria-live": "polite" }) : null, lineKey(lines, e.moderator), picture, e.of > e.values?.length ? soft(`The ${e.values.length} most frequent of ${e.of} values.`) : null].filter(Boolean));
  }
  host.append(soft(`Expected share of each topic in a document, from a linear regression of all ${count(given.documents)} documents, whatever is selected: ${given.formula}${given.cluster ? `; errors clustered by ${given.cluster}` : ""}. Other covariates are at their median or most frequent value; 95 % intervals, of each topic alone.`), controls, box);
  show();
}

// ---- topics that go together: a network, and the pairs
function makeNetwork(data, colours) {
  const host = section("network"), given = data.network;
  if (!host || !given) return;
  const width = roomOf(host, 760), height = min(width * 0.8, 560), K = data.topics.length, biggest = max(...data.topics.map((t) => t.share));
  const r = data.topics.map((t) => 9 + (width < 500 ? 12 : 22) * sqrt(t.share / biggest)), xs = given.places.map((p) => p[0]), ys = given.places.map((p) => p[1]);
  const scale = (v, all, size) => 44 + ((v - min(...all)) / (max(...all) - min(...all) || 1)) * (size - 88);
  const at = given.places.map((p) => [scale(p[0], xs, width), scale(p[1], ys, height)]);
  const letters = width < 500 ? 14 : 26, names = data.topics.map((t, k) => `${t.topic} ${topicName(data, k)}`).map((t) => (t.length > letters ? t.slice(0, letters - 1) + "…" : t));
  // boxes of circle and name are pushed apart along the axis on which they overlap less
  const half = names.map((t, k) => [max(r[k], 3.3 * t.length) + 3, r[k] + 9]);
  at.forEach((p, k) => [width, height - 8].forEach((size, i) => (p[i] = clamp(p[i], half[k][i], size - half[k][i]))));
  for (let n = 0; n < 200; n++) for (let j = 0; j < K; j++) for (let k = 0; k < j; k++) {
    const over = [0, 1].map((i) => half[j][i] + half[k][i] - abs(at[j][i] - at[k][i])), i = over[0] < over[1] ? 0 : 1;
    if (min(...over) <= 0) continue;
    const side = at[j][i] < at[k][i] ? -1 : 1;
    for (const [m, s] of [[j, side], [k, -side]]) at[m][i] = clamp(at[m][i] + (s * over[i]) / 2, half[m][i], (i ? height - 8 : width) - half[m][i]);
  }
  const seen = shownTopics(data), pairs = given.pairs.filter(([j, k]) => seen.includes(j) && seen.includes(k)), positive = pairs.filter((p) => p[2] > 0).sort((a, b) => b[2] - a[2]), strongest = positive[0]?.[2] ?? 1, box = el("div", {}), shown = el("output", {});
  let least = 0.01;
  function draw() {
    const picture = drawing(width, height, "Topics joined where they are in the same documents more than by chance", width);
    for (const [j, k, v] of positive) if (v >= least) picture.append(svg("line", { x1: at[j][0], y1: at[j][1] - 6, x2: at[k][0], y2: at[k][1] - 6, class: "edge", "stroke-width": 0.6 + 6 * (v / strongest) }));
    for (const k of seen) picture.append(svg("circle", { cx: at[k][0], cy: at[k][1] - 6, r: r[k], fill: colours[k], stroke: "var(--bg)" }, hover(`${topicName(data, k)}: ${percent(data.topics[k].share)}`)));
    for (const k of seen) picture.append(svg("text", { x: at[k][0], y: at[k][1] + r[k] + 6, "text-anchor": "middle", class: "halo", text: names[k] }));
    shown.textContent = "r ≥ " + least.toFixed(2);
    box.replaceChildren(picture);
    return picture;
  }
  const list = (heading, pairs) => el("div", {}, el("h3", { text: heading }), pairs.length ? el("ul", { class: "list" }, pairs.slice(0, 8).map(([j, k, v]) => el("li", { text: `${quoted(data, k)} and ${quoted(data, j)}: r = ${v.toFixed(2)}` }))) : soft("No two."));
  const slider = el("input", { type: "range", min: 0.01, max: max(0.02, strongest).toFixed(2), step: 0.01, value: 0.01, "aria-label": "Least correlation of topics that are joined", oninput: (e) => { least = +e.target.value; draw(); } });
  host.append(soft(`Correlation of the probabilities of topics over all documents, whatever is selected. Of ${K} topics without relation two have about ${(-1 / max(K - 1, 1)).toFixed(2)}, as shares sum to 1.`), bar(positive.length ? [el("label", {}, "Joined from", slider, shown), svgButton("correlations", () => $("svg", box))] : null, csvButton("correlations", () => [["topic", "other", "correlation"], ...pairs.map(([j, k, v]) => [data.topics[j].label, data.topics[k].label, v])])), box,
    el("div", { class: "two" }, list("Go together most", positive), list("Avoid each other most", pairs.filter((p) => p[2] < 0).sort((a, b) => a[2] - b[2]))));
  if (positive.length) draw();
}

// ---- which column explains the topics
function makeExplained(data, host) {
  const given = data.explained;
  if (!given) return;
  const rows = given.rows, first = rows[0];
  const picture = dotChart(rows.map((r) => ({ name: `${r.column} (${count(r.values)}${r.kind === "text" ? "" : " parts"})`, points: [{ v: r.effect, low: min(r.low, r.effect), high: max(r.high, r.effect) }] })), [""], { title: "Share of the variance of topics that each column explains, with intervals", width: roomOf(host, 720), low: min(0, ...rows.map((r) => r.effect)) });
  fill(host, {}, [el("h3", { text: "Which column explains the topics?" }), el("p", { text: `${first.column} explains most: ${percent(max(first.effect, 0))} of the differences between documents (${percent(first.low)} to ${percent(first.high)}), best those in ${first.topics.slice(0, 2).map((k) => quoted(data, k)).join(" and ")}.${rows.filter((r) => r.p > 0.05).length ? " No more than by chance (permutation test, p > 0.05): " + rows.filter((r) => r.p > 0.05).map((r) => r.column).join(", ") + "." : ""}` }), given.note ? el("p", { class: "remedy", text: given.note }) : null, picture,
    bar(el("span", { class: "soft", text: "Share of the variance of topics between the values of a column, corrected for chance: 0 % for a column without meaning, 100 % where it says everything." }), svgButton("columns", () => picture), csvButton("columns", () => [["column", "kind", "values", "documents", "explained", "low", "high", "p"], ...rows.map((r) => [r.column, r.kind, r.values, r.documents, r.effect, r.low, r.high, r.p])]))]);
}
