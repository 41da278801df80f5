// Topics that people did not hide (nlpkit edit --hide); and of these the ones that have a selected document, which lists show
const shownTopics = (data) => data.topics.map((_, k) => k).filter((k) => !(data.review.hidden || []).includes(k));
const listedTopics = (data) => shownTopics(data).filter((k) => !data.selected || data.selected.has(k));
// A document that opens: {id, title, text, near}; words: those to mark; what: how it stands to `near`
const docItem = (doc, k, words, what) => el("details", {}, el("summary", { dir: "auto" }, doc.title || doc.id, doc.near != null && doc.near >= 0 && doc.near !== k ? el("span", { class: "soft", text: " · " + what(doc.near) }) : null), soft(doc.id), doc.text ? el("p", { class: "doc", dir: "auto" }, marked(doc.text, words)) : null);
// ---- topics: the table sorts, and each row opens to words, documents and where the topic is on the map
function makeTopics(data, colours, selection) {
  const table = $("#topic-table"), body = table.tBodies[0], rows = [...body.rows];
  const fitted = data.topics.some((t) => t.terms.some((w) => w.w != null));
  let lambda = 0.6, byRelevance = !fitted;
  const open = new Map();
  const ordered = (k) => (byRelevance ? data.topics[k].terms.slice().sort((a, b) => relevance(b, lambda) - relevance(a, lambda)) : data.topics[k].terms);
  const listeners = [];
  const wordCells = rows.map((row) => row.lastElementChild);  // before which a line over time may come
  const inTable = () => rows.forEach((row, k) => { wordCells[k].textContent = ordered(k).slice(0, data.topics[k].top.length).map((w) => w.t).join(", "); });
  const redraw = () => { inTable(); for (const [k, box] of open) box.replaceChildren(wordBars(data.topics[k], ordered(k), colours[k])); listeners.forEach((f) => f()); };
  const panes = [];
  // controls of the order of words, which may stand in several places and move together
  function controls() {
    const slider = el("input", { type: "range", min: 0, max: 1, step: 0.05, value: lambda, id: panes.length ? null : "lambda", "aria-label": "lambda", oninput: (e) => { lambda = +e.target.value; byRelevance = true; show(); } });
    const shown = el("output", {}), mode = el("select", { "aria-label": "Order of the words", onchange: (e) => { byRelevance = e.target.value === "relevance"; show(); } }, fitted ? el("option", { value: "fitted", text: "as the model ranks them" }) : null, el("option", { value: "relevance", text: "relevance" }));
    panes.push({ slider, shown, mode });
    say();
    return [el("label", {}, "Words by", mode), el("label", {}, slider, shown), el("span", { class: "soft", text: "λ 1: most probable; λ 0: most exclusive (Sievert & Shirley 2014)" })];
  }
  function say() { for (const c of panes) { c.mode.value = byRelevance ? "relevance" : "fitted"; c.slider.value = lambda; c.shown.textContent = "λ = " + lambda.toFixed(2); } }
  function show() { say(); redraw(); }
  table.parentNode.before(bar(controls(),
    csvButton("topics", () => [["topic", "name", "documents", "share", "npmi", "stability", "words"], ...data.topics.map((t) => [t.topic, t.label, t.size, t.share, t.npmi, t.stability, t.top.join(" ")])], "Topics as CSV"),
    csvButton("words", () => [["topic", "name", "word", "p in topic", "times as often"], ...data.topics.flatMap((t, k) => ordered(k).map((w) => [t.topic, t.label, w.t, w.p, w.l]))], "Words as CSV")));
  function detail(k) {
    const topic = data.topics[k], bars = el("div", {}), docs = (list) => list.map((d) => docItem(d, k, topic.top, (near) => "near " + nameOf(data, near)));
    open.set(k, bars);
    bars.append(wordBars(topic, ordered(k), colours[k]));
    return el("tr", { class: "detail" }, el("td", { colspan: rows[0].cells.length }, el("div", { class: "two" },
      el("div", {}, el("h3", { text: "Words" }), bars, soft("Wide bar: share among the words of the topic; narrow bar: among all words."), topic.only.length ? soft("Among the first words of no other topic: " + topic.only.join(", ")) : null,
        data.review.notes?.[k] ? el("p", { dir: "auto", text: "Note: " + data.review.notes[k] }) : null, el("p", {}, button("Show on the map", () => selection.topics([k])))),
      el("div", {}, el("h3", { text: "Typical documents" }), docs(topic.typical), topic.border.length ? [el("h3", { text: "Borderline documents" }), docs(topic.border)] : null))));
  }
  rows.forEach((row, k) => {
    const head = row.cells[0], name = head.textContent;
    const toggle = button(name, () => {
      if (open.has(k)) { open.delete(k); row.nextElementSibling.remove(); } else row.after(detail(k));
      toggle.setAttribute("aria-expanded", open.has(k));
    }, { class: "link", "aria-expanded": "false", dir: "auto" });
    head.replaceChildren(toggle);
  });
  const hidden = data.review.hidden || [];
  for (const k of hidden) rows[k].hidden = true;
  if (hidden.length) table.parentNode.after(button(`Show ${hidden.length} hidden topic${hidden.length > 1 ? "s" : ""}`, (e) => { for (const k of hidden) rows[k].hidden = false; e.target.remove(); }));
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, c) => {
    const numeric = head.classList.contains("n");
    head.replaceChildren(button(head.textContent, () => {
      const down = head.getAttribute("aria-sort") === "descending" || (!numeric && head.getAttribute("aria-sort") !== "ascending");
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      const value = (row) => { const t = row.cells[c].textContent; return numeric ? parseFloat(t.replaceAll(",", "")) : t; };
      const sign = down ? 1 : -1;
      const sorted = rows.slice().sort((a, b) => { const u = value(a), v = value(b); return numeric ? (Number.isNaN(u) - Number.isNaN(v)) || sign * (u - v) : sign * u.localeCompare(v); });
      for (const row of sorted) { const below = row.nextElementSibling?.classList.contains("detail") && open.has(rows.indexOf(row)) ? row.nextElementSibling : null; body.append(row); if (below) body.append(below); }
    }));
  });
  show();
  return { ordered, controls, onOrder: (f) => listeners.push(f), rows, sizes: () => {} };
}
