// ---- what is selected: the documents in every part (a lasso, topics, words, a period, values of columns); whatever shows documents follows.
// A part is a name and a value, as in the address of the page: #topic=3&by.label=economy&word=rates
const EXACT = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const wordSource = (word) => { const source = EXACT(word).replaceAll("_", "[_ ]"); return UNSPACED.test(word) ? source : `(?<![\\p{L}\\p{N}])${source}(?![\\p{L}\\p{N}])`; };
// Words (and what was searched for) inside a text, as <mark>; everything stays text.
function marked(text, words, searched) {
  const sources = [...words.map(wordSource), ...(searched || [])], parts = [];
  if (!sources.length || !text) return [text || ""];
  let last = 0;
  for (const match of text.matchAll(new RegExp(sources.join("|"), "giu"))) {
    if (match[0]) parts.push(text.slice(last, match.index), el("mark", { text: match[0] }));
    last = match.index + match[0].length;
  }
  return [...parts, text.slice(last)];
}
// Steps of equal numbers of documents, for colours: their names, and the step of each value
function stepsOf(values, format, S = 12) {
  const sorted = Float32Array.from(values.filter((v) => !Number.isNaN(v))).sort(), edges = Array.from({ length: S - 1 }, (_, s) => sorted[floor(((s + 1) * sorted.length) / S)]);
  const of = (v) => { if (Number.isNaN(v)) return S; let s = 0; while (s < S - 1 && v >= edges[s]) s++; return s; };
  return { names: [...Array.from({ length: S }, (_, s) => (s ? "from " + format(edges[s - 1]) : "up to " + format(edges[0]))), "no value"], of: (i) => of(values[i]) };
}
const nameOf = (data, k) => (k < 0 ? "no topic" : data.topics[k].label);

function makeSelection(data, texts) {
  const { topic, prob, near } = data.arrays, n = data.n, parts = new Map(), changed = [], settled = [], PAGE = 50;
  let match = null, rows = null, chosen = -1, page = 0, later = 0, asked = 0, counted = null;
  const title = (i) => (texts.ready && (texts.titles[i] || texts.ids[i])) || "document " + (i + 1);
  const hasTexts = () => texts.ready && (texts.titles.some(Boolean) || texts.texts.some(Boolean));
  const column = (name) => { const c = data.columns.findIndex((o) => o.name === name); if (c < 0) throw new Error(`The column ${name} is not in this file.`); return c; };
  const values = (c) => (c < 0 ? Float32Array.from(prob, (v) => v / 255) : data.arrays["c" + c]);
  const steps = (c) => stepsOf(values(c), c < 0 ? (v) => v.toFixed(2) : data.columns[c].type === "date" ? day : short);
  function value(c, i) {
    const v = data.arrays["c" + c][i], { type, values } = data.columns[c];
    return type === "category" ? (v < 0 ? "" : values[v]) : Number.isNaN(v) ? "" : type === "date" ? day(v) : short(v);
  }
  const dated = data.columns.findIndex((c) => c.type === "date");
  const search = (source) => { const pattern = new RegExp(source, "iu"); if (!texts.ready) throw new Error("The texts are still being read."); return (i) => pattern.test(texts.titles[i] || "") || pattern.test(texts.texts[i] || "") || (!texts.titles.length && pattern.test(texts.ids[i])); };
  const sourceOf = (typed) => /^\/(.+)\/$/.exec(typed)?.[1] ?? EXACT(typed);
  // what a part means: its words, and a test of document i
  const places = new Map([["-1", -1], ...data.topics.map((t, k) => [String(t.topic), k])]);
  const kinds = {
    __proto__: null,
    topic(ids) {
      const ks = ids.split(",").map((id) => places.get(id));
      if (ks.includes(undefined)) throw new Error(`The topic ${ids} of the link is not in this file.`);
      return [ks.length > 3 ? `${ks.length} topics` : ks.map((k) => nameOf(data, k)).join("; "), (i) => ks.includes(topic[i])];
    },
    text: (typed) => [`“${typed}”`, search(sourceOf(typed))],
    word: (word) => [`word “${word}”`, search(wordSource(word))],
    period(span) {
      const days = data.arrays["c" + dated], [from, to] = span.split("..").map((text) => Date.parse(text) / 864e5);
      if (!days || !(from <= to)) throw new Error(`The period ${span} of the link is not in this file.`);
      return [span.replace("..", " to "), (i) => days[i] >= from && days[i] <= to];
    },
    by(name, text) {
      const c = column(name), codes = data.arrays["c" + c], code = text === "" ? -1 : (data.columns[c].values || []).indexOf(text);
      if (text && code < 0) throw new Error(`“${text}” is not in the column ${name} of this file.`);
      return [`${name}: ${text || "no value"}`, (i) => codes[i] === code];
    },
    step(name, number) {
      const at = steps(name ? column(name) : -1);
      if (!at.names[number]) throw new Error(`Part ${number} of ${name} is not in this file.`);
      return [`${name || "probability"} ${at.names[number]}`, (i) => at.of(i) === +number];
    },
  };
  function set(key, value) {
    if (value == null) parts.delete(key);
    else {
      const [, kind, name] = /^(\w+)(?:\.(.*))?$/s.exec(key), [label, test] = name == null ? kinds[kind](value) : kinds[kind](name, value), hits = new Uint8Array(n);
      for (let i = 0; i < n; i++) if (test(i)) hits[i] = 1;
      parts.set(key, { value, label, hits });
    }
    renew();
  }
  const toggle = (key, value) => set(key, parts.get(key)?.value === value ? null : value);
  function clear() { parts.clear(); renew(); }
  // the documents of all parts but these, as flags; null for all. A chart is filtered by everything but itself.
  function without(...keys) {
    const left = [...parts].filter(([key]) => !keys.includes(key)).map(([, p]) => p.hits);
    if (left.length < 2) return left[0] || null;
    return left[0].map((_, i) => (left.every((hits) => hits[i]) ? 1 : 0));
  }
  function renew() {
    match = without();
    chosen = -1;
    page = 0;
    rows = match && [];
    data.selected = match && new Map();
    if (match) for (let i = 0; i < n; i++) if (match[i]) { rows.push(i); data.selected.set(topic[i], (data.selected.get(topic[i]) || 0) + 1); }
    say();
    list();
    changed.forEach((f) => f());
    clearTimeout(later);
    later = setTimeout(() => { address(link()); contrast(); settled.forEach((f) => f()); }, 60);
  }
  const link = () => (parts.size ? "#" + new URLSearchParams([...parts].map(([key, p]) => [key, p.value])) : "");
  function address(text) { try { history.replaceState(null, "", text || location.pathname + location.search); } catch { /* shown in a frame, which has no address */ } }

  // ---- the line at the lower edge: what is selected, and how to clear it
  const said = el("strong", { role: "status" }), chips = el("span", { class: "bar" }), strip = el("aside", { class: "selected", "aria-label": "Selection", hidden: true }, said, chips);
  $("main").before(strip);
  function say() {
    const inside = strip.contains(document.activeElement);
    strip.hidden = !match;
    said.textContent = match ? `Selected: ${count(rows.length)} of ${count(n)} documents` : "";
    chips.replaceChildren(...[...parts].map(([key, p]) => button(p.label + " ×", () => set(key, null), { class: "small part", "aria-label": "Clear " + p.label })), button("Clear all (Esc)", clear, { class: "small" }), el("a", { href: link(), text: "Link" }));
    if (inside) (match ? chips.querySelector("button") : $("#search")).focus();
  }
  addEventListener("keydown", (e) => { if (e.key === "Escape" && match && !e.target.matches("input, textarea, select")) clear(); });

  // ---- the list of documents, one of them, and what sets them apart
  const head = el("div", { "aria-live": "polite" }), body = el("div", {}), side = el("div", { class: "side", tabindex: 0, role: "region", "aria-label": "Documents" }, head, body), apart = el("div", { class: "two" });
  const searched = () => [...parts].filter(([key]) => key === "text" || key === "word").map(([key, p]) => (key === "word" ? wordSource(p.value) : sourceOf(p.value)));
  function excerpt(i) {
    const sources = searched(), text = (texts.ready && texts.texts[i]) || "", at = sources.length ? text.search(new RegExp(sources.join("|"), "iu")) : -1;
    if (at < 0) return null;
    const from = max(0, at - 50);
    return el("p", { class: "soft", dir: "auto" }, from ? "…" : "", marked(text.slice(from, at + 90), [], sources), text.length > at + 90 ? "…" : "");
  }
  function open(i) {
    chosen = i;
    if (texts.ready) address("#" + new URLSearchParams([["doc", texts.ids[i]]]));
    const k = topic[i], table = [["topic", nameOf(data, k)], ["probability", (prob[i] / 255).toFixed(2)]];
    if (near[i] >= 0 && near[i] !== k) table.push(["nearest other topic", nameOf(data, near[i])]);
    data.columns.forEach((c, j) => value(j, i) !== "" && table.push([c.name, value(j, i)]));
    head.replaceChildren(el("h3", { text: title(i), dir: "auto" }));
    body.replaceChildren(soft(texts.ready ? texts.ids[i] : ""), el("p", { class: "doc", dir: "auto" }, marked((texts.ready && texts.texts[i]) || "", k < 0 ? [] : data.topics[k].top, searched())),
      el("table", {}, table.map(([a, b]) => el("tr", {}, el("th", { scope: "row", text: a }), el("td", { text: b })))),
      el("p", {}, button(rows ? "Back to the list" : "Back", () => { chosen = -1; address(link()); list(); changed.forEach((f) => f()); })));
    side.scrollTop = 0;
    changed.forEach((f) => f());
  }
  function list() {
    side.scrollTop = 0;
    if (!rows) {
      head.replaceChildren();
      return body.replaceChildren(soft((data.arrays.x ? `Point at a document for its title, click it for its text. Drag to move; pinch, hold Ctrl and turn the wheel, or use + and − to zoom${data.layers.length ? ": finer topics appear" : ""}. “Lasso” selects the documents you draw around. ` : "") + "A topic, word, period or value that you choose selects its documents, too; the page then shows these."));
    }
    const topics = [...data.selected].sort((a, b) => b[1] - a[1]).slice(0, 8), last = ceil(rows.length / PAGE) - 1, turn = (by) => button(by < 0 ? "Previous" : "Next", () => { page += by; list(); }, { class: "small", disabled: page + by < 0 || page + by > last });
    head.replaceChildren(el("h3", { text: `${[...parts.values()].map((p) => p.label).join(" + ")}: ${count(rows.length)} of ${count(n)} documents` }));
    body.replaceChildren(bar(csvButton("documents", () => [["id", "title", "topic", "name", "probability", ...data.columns.map((c) => c.name)], ...rows.map((i) => [texts.ids?.[i], texts.titles?.[i] || "", topic[i], nameOf(data, topic[i]), (prob[i] / 255).toFixed(3), ...data.columns.map((_, c) => value(c, i))])])),
      el("ul", { class: "list" }, topics.map(([k, c]) => el("li", { text: `${nameOf(data, k)}: ${count(c)}` }))),
      el("ol", { class: "list", start: page * PAGE + 1 }, rows.slice(page * PAGE, (page + 1) * PAGE).map((i) => el("li", {}, button(title(i), () => open(i), { class: "link", dir: "auto" }), excerpt(i)))),
      ...(last > 0 ? [bar(turn(-1), `${count(page * PAGE + 1)} to ${count(min(rows.length, (page + 1) * PAGE))}`, turn(1))] : []));
  }
  // the words of the documents as the file holds them, each once in a document: ids[starts[i]] … of document i
  async function countWords() {
    const numbers = new Map(), starts = new Int32Array(n + 1), segmenter = Intl.Segmenter && new Intl.Segmenter([], { granularity: "word" });
    let ids = new Int32Array(n * 30 + 100), at = 0;
    for (let i = 0; i < n; i++) {
      if (i % 3000 === 2999) await new Promise((done) => setTimeout(done));
      const text = `${texts.titles[i] || ""} ${texts.texts[i] || ""}`.toLowerCase(), words = segmenter && UNSPACED.test(text) ? Array.from(segmenter.segment(text), (s) => (s.isWordLike ? s.segment : "")) : text.match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}'’-]*/gu) || [];
      for (const word of new Set(words)) {
        if (!word) continue;
        if (at === ids.length) { const more = new Int32Array(2 * at); more.set(ids); ids = more; }
        if (!numbers.has(word)) numbers.set(word, numbers.size);
        ids[at++] = numbers.get(word);
      }
      starts[i + 1] = at;
    }
    const all = new Int32Array(numbers.size);
    for (let a = 0; a < at; a++) all[ids[a]]++;
    return { words: [...numbers.keys()], starts, ids, all };
  }
  // G² of a word by documents with and without it, here and elsewhere (Dunning 1993), of words that are more frequent here
  function keyness({ words, starts, ids, all }) {
    const here = new Int32Array(words.length), N = rows.length, out = [], part = (o, e) => (o ? o * Math.log(o / e) : 0);
    for (const i of rows) for (let a = starts[i]; a < starts[i + 1]; a++) here[ids[a]]++;
    for (let w = 0; w < words.length; w++) {
      const a = here[w], both = all[w], expected = (both * N) / n;
      if (a < 3 || a <= expected) continue;
      const g = 2 * (part(a, expected) + part(both - a, both - expected) + part(N - a, N - expected) + part(n - N - both + a, n - both - N + expected));
      if (g >= 10.83) out.push({ word: words[w], here: a / N, rest: (both - a) / (n - N), g });
    }
    return out.sort((a, b) => b.g - a.g);
  }
  const shareTable = (name, heads, cells) => el("div", { class: "wide" }, el("table", {}, el("caption", { text: name }), el("thead", {}, el("tr", {}, heads.map((h, j) => el("th", { scope: "col", class: j ? "n" : null, text: h })))), el("tbody", {}, cells.map((row) => el("tr", {}, row.map((c, j) => (j ? el("td", { class: "n", text: c }) : el("th", { scope: "row" }, c))))))));
  async function contrast() {
    const mine = ++asked, N = rows?.length;
    if (!N || N === n) return apart.replaceChildren();
    const wordBox = el("div", {}, soft("Counting words …")), columns = data.columns.flatMap((c, j) => {
      if (c.type !== "category") {
        const middle = (flag) => { const kept = Float32Array.from(values(j).filter((v, i) => match[i] === flag && !Number.isNaN(v))).sort(); return kept.length ? (c.type === "date" ? day : short)(kept[kept.length >> 1]) : ""; };
        return [[c.name + ", median", middle(1), middle(0)]];
      }
      const sums = [c.values.map(() => 0), c.values.map(() => 0)];
      data.arrays["c" + j].forEach((v, i) => v >= 0 && sums[match[i]][v]++);
      const [rest, here] = sums.map((s) => { const total = s.reduce((a, b) => a + b, 0); return s.map((v) => (total ? v / total : 0)); });
      return c.values.map((_, v) => v).sort((a, b) => abs(here[b] - rest[b]) - abs(here[a] - rest[a])).slice(0, 4).map((v) => [button(`${c.name}: ${c.values[v]}`, () => toggle("by." + c.name, c.values[v]), { class: "link", dir: "auto" }), percent(here[v]), percent(rest[v])]);
    });
    apart.replaceChildren(wordBox, columns.length ? el("div", {}, el("h3", { text: "Columns" }), shareTable("Of each column, the values that differ most.", ["Value", "selected", "others"], columns)) : "");
    if (!hasTexts()) return wordBox.replaceChildren(soft(texts.ready ? "This file holds no texts, so there are no words to compare." : ""));
    const index = await (counted ??= countWords());
    if (mine !== asked) return;
    const found = keyness(index), shown = found.slice(0, 15);
    wordBox.replaceChildren(el("h3", { text: "Words against the rest" }), shown.length ? shareTable(`Documents with the word, of what this file holds of ${count(n)} documents (G² ≥ 10.8: p < 0.001 for one word).`, ["Word", "selected", "others", "G²"], shown.map((r) => [button(r.word, () => toggle("word", r.word), { class: "link", dir: "auto" }), percent(r.here), percent(r.rest), r.g.toFixed(1)])) : soft("No word sets these documents apart (G² ≥ 10.8, in at least 3 of them)."),
      shown.length ? csvButton("words-against-the-rest", () => [["word", "selected", "others", "G2"], ...found.map((r) => [r.word, r.here, r.rest, r.g])]) : "");
  }

  // ---- search and period
  const field = el("input", { type: "search", id: "search", size: 22, placeholder: "word or /pattern/", "aria-label": "Search titles and texts" }), told = el("span", { class: "soft", "aria-live": "polite" });
  function look(e) {
    e.preventDefault();
    told.textContent = "";
    const typed = field.value.trim();
    try { set("text", typed || null); if (typed) told.textContent = `${count(rows.length)} of ${count(n)}`; } catch (error) { told.textContent = error.name === "SyntaxError" ? "This is no pattern: " + error.message : error.message; }
  }
  function brush() {
    const days = data.arrays["c" + dated].filter((v) => !Number.isNaN(v)), first = days.reduce((a, b) => min(a, b)), last = days.reduce((a, b) => max(a, b)), shown = el("output", {});
    const ends = [first, last].map((value, e) => el("input", { type: "range", min: first, max: last, step: 1, value, "aria-label": e ? "Last day" : "First day", oninput: () => { const [from, to] = ends.map((o) => +o.value).sort((a, b) => a - b); set("period", from === first && to === last ? null : `${day(from)}..${day(to)}`); } }));
    const follow = () => { const at = parts.get("period"), span = at ? at.value.split("..") : [day(first), day(last)]; shown.textContent = span.join(" to "); if (!ends.includes(document.activeElement) || !at) ends.forEach((o, e) => (o.value = Date.parse(span[e]) / 864e5)); };
    changed.push(follow);
    follow();
    return el("div", { class: "bar", role: "group", "aria-label": "Period" }, "Period", ends, shown);
  }
  changed.push(() => { if (!parts.has("text")) told.textContent = ""; if (document.activeElement !== field) field.value = parts.get("text")?.value ?? ""; });
  // what the address asks for
  function follow() {
    const asks = [...new URLSearchParams(location.hash.slice(1))].filter(([key]) => key === "doc" || kinds[key.split(".")[0]]);
    if (!asks.length) return;
    try {
      parts.clear();
      for (const [key, value] of asks) if (key !== "doc") set(key, value);
      const id = asks.find(([key]) => key === "doc")?.[1];
      if (id != null) { const i = texts.ids.indexOf(id); if (i < 0) throw new Error(`The document ${id} of the link is not in this file.`); clearTimeout(later); open(i); }
    } catch (error) { renew(); head.replaceChildren(el("p", { role: "alert", text: error.message })); }
    section("map").scrollIntoView();
  }
  addEventListener("hashchange", follow);
  list();
  return {
    set, toggle, hasTexts, without, open, follow, title, steps, side, apart, kinds, search: el("form", { class: "bar", role: "search", onsubmit: look }, field, button("Search", null, { type: "submit" }), told), brush: dated < 0 ? "" : brush(),
    is: (key, value) => parts.get(key)?.value === value, match: () => match, chosen: () => chosen, onChange: (f) => changed.push(f), onSettled: (f) => settled.push(f),
    topics(ks) { set("topic", ks.map((k) => data.topics[k].topic).join(",")); section("map").scrollIntoView(); },
  };
}
