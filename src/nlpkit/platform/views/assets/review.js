// ---- review: one topic at a time is judged, named, merged, split, hidden and noted; saved as edits (TOML) and as a code book (CSV)
const JUDGEMENTS = ["understood", "mixed", "junk"];
// Edits as this page and `nlpkit annotate agree --join` write them: values are JSON, on one line each.
function readEdits(text) {
  const found = {}, list = (value) => JSON.parse(value);
  let part = found;
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.trim(), head = line.match(/^\[(\w+)\]$/), pair = line.match(/^(\w+) = (.+)$/);
    if (head) part = found[head[1]] = {};
    else if (pair && part !== found.topics) part[pair[1]] = list(pair[2]);
    else if (line && !line.startsWith("#") && part !== found.topics) throw new Error(`“${line}” is not as this page writes it`);
    else if (pair) part[pair[1]] = pair[2];
  }
  return found;
}
function makeReview(data, texts) {
  const host = section("review"), K = data.topics.length, { key, hidden = [], judgements = {}, notes = {} } = data.review;
  const name = (k) => data.topics[k].label, title = (k) => `${k}: ${state.names[k] || name(k)}`;
  const mark = (k) => (state.open[k] ? "? " : state.judged[k] ? "✓ " : "");
  const words = (k) => data.topics[k].top;
  const first = { coder: "", names: {}, judged: { ...judgements }, notes: { ...notes }, hidden: [...hidden], into: {}, split: {}, open: {} };
  let past = [JSON.stringify(first)], at = 0, state = JSON.parse(past[0]), chosen = 0, kept = true;
  const told = el("p", { role: "status", class: "soft" }), box = el("div", {});
  const live = (text) => { told.textContent = text; };
  function remember() {
    try { localStorage.setItem(key, JSON.stringify({ past: past.slice(0, at + 1).slice(-60), chosen })); } catch { kept = false; }
  }
  // Of texts nothing is drawn anew: the click that ends a text must meet the button, or the field, that it was meant for.
  function change(what, act, isText) {
    act(state);
    const now = JSON.stringify(state);
    if (now === past[at]) return;
    past = [...past.slice(0, at + 1), now];
    at++;
    remember();
    if (!isText) show();
    else {
      $("[data-review=undo]", box).disabled = false;
      $("[data-review=redo]", box).disabled = true;
      [...$("#review-topic").options].forEach((option, a) => { option.textContent = mark(a) + title(a); });
    }
    live(what + (kept ? "" : ". This browser keeps nothing: save the edits before you close the page."));
  }
  function step(by) {
    if (past[at + by] == null) return;
    at += by;
    state = JSON.parse(past[at]);
    coder.value = state.coder;
    remember();
    show();
    live(by < 0 ? "Undone" : "Done again");
  }
  function go(k) { chosen = clamp(k, 0, K - 1); remember(); show(); live(title(chosen)); }
  // topics that are merged into k; merges have one level, so that there are no circles
  const members = (k) => Object.keys(state.into).filter((a) => state.into[a] === k).map(Number);
  function merge(k, into) {
    change(into < 0 ? `Topic ${k} stands alone` : `Topic ${k} merged into ${into}`, (s) => {
      delete s.into[k];
      if (into < 0) return;
      for (const a of members(k)) s.into[a] = into;
      s.into[k] = into;
      for (const a of [k, into]) delete s.split[a];
      for (const a of [k, ...members(k)]) { delete s.names[a]; s.hidden = s.hidden.filter((h) => h !== a); }
    });
  }
  const judge = (value) => change(`Topic ${chosen}: ${value || "no judgement"}`, (s) => { if (value && s.judged[chosen] !== value) s.judged[chosen] = value; else delete s.judged[chosen]; });
  const hide = () => change(`Topic ${chosen} ${state.hidden.includes(chosen) ? "shown" : "hidden"}`, (s) => { s.hidden = s.hidden.includes(chosen) ? s.hidden.filter((h) => h !== chosen) : [...s.hidden, chosen].sort((a, b) => a - b); delete s.split[chosen]; });

  // ---- documents: typical, borderline, and those of other topics that have this one second
  function second(k) {
    const { topic, near, margin } = data.arrays, rows = [];
    for (let i = 0; i < data.n; i++) if (near[i] === k && topic[i] !== k) rows.push(i);
    rows.sort((a, b) => margin[a] - margin[b] || a - b);
    return rows.slice(0, 5).map((i) => ({ id: texts.ids[i] ?? "document " + (i + 1), title: texts.titles[i], text: texts.texts[i], near: topic[i] }));
  }
  const documents = (heading, docs, k, what) => [el("h3", { text: heading }), docs.length ? docs.map((d) => docItem(d, k, words(k), (near) => `${what} ${title(near)}`)) : soft("None in this file.")];

  // ---- one topic
  function show() {
    const k = chosen, into = state.into[k], focus = document.activeElement?.dataset?.review;
    const field = (id, text, node) => el("p", {}, el("label", { for: "review-" + id, text }), el("br"), node);
    const control = (tag, id, attributes, ...kids) => el(tag, { id: "review-" + id, "data-review": id, ...attributes }, kids);
    const alone = data.topics.map((_, a) => a).filter((a) => a !== k && state.into[a] == null);
    const judged = Object.keys(state.judged).length, undecided = Object.keys(state.open).length;
    box.replaceChildren(
      bar(button("Previous", () => go(chosen - 1), { disabled: k === 0, "data-review": "previous" }),
        el("label", {}, "Topic", control("select", "topic", { onchange: (e) => go(+e.target.value) }, data.topics.map((_, a) => el("option", { value: a, selected: a === k, text: mark(a) + title(a) })))),
        button("Next", () => go(chosen + 1), { disabled: k === K - 1, "data-review": "next" }), el("span", { class: "soft", text: `${judged} of ${K} judged${undecided ? `, ${undecided} open` : ""}` }),
        button("Undo", () => step(-1), { disabled: at === 0, "data-review": "undo" }), button("Redo", () => step(1), { disabled: past[at + 1] == null, "data-review": "redo" })),
      el("p", {}, el("strong", { text: "Words: " }), words(k).join(", ")),
      ...(state.open[k] ? [el("div", { class: "note" }, el("p", {}, el("strong", { text: "To settle:" })), el("ul", {}, state.open[k].map((text) => el("li", { text }))), button("Settled", () => change(`Topic ${k} is settled`, (s) => delete s.open[k]), { "data-review": "settled" }))] : []),
      el("div", { class: "two" }, el("div", {},
        el("fieldset", {}, el("legend", { text: "Judgement" }), JUDGEMENTS.map((value, i) => el("label", {}, el("input", { type: "radio", name: "review-judgement", "data-review": value, value, checked: state.judged[k] === value, onchange: () => judge(value) }), ` ${value} (${i + 1}) `))),
        into != null ? el("p", { class: "note" }, "Merged into ", button(title(into), () => go(into), { class: "link" })) : field("name", "Name", control("input", "name", { value: state.names[k] || name(k), onchange: (e) => { const given = e.target.value.trim(); change(`Topic ${k} renamed`, (s) => { if (given && given !== name(k)) s.names[k] = given; else delete s.names[k]; }, true); e.target.value = state.names[k] || name(k); } })),
        field("merge", "Merge into", control("select", "merge", { onchange: (e) => merge(k, +e.target.value) }, el("option", { value: -1, text: members(k).length ? `(has ${members(k).map(title).join("; ")})` : "no other topic" }), alone.map((a) => el("option", { value: a, selected: a === into, text: title(a) })))),
        data.review.splits && into == null && !members(k).length && !state.hidden.includes(k) ? field("split", "Split into parts", control("select", "split", { onchange: (e) => change(`Topic ${k} in ${e.target.value} parts`, (s) => { if (+e.target.value > 1) s.split[k] = +e.target.value, delete s.names[k]; else delete s.split[k]; }) }, [1, 2, 3, 4, 5].map((n) => el("option", { value: n, selected: n === (state.split[k] || 1), text: n === 1 ? "one" : n })))) : null,
        into == null ? el("p", {}, el("label", {}, control("input", "hide", { type: "checkbox", checked: state.hidden.includes(k), onchange: hide }), " Hide in reports (h)")) : null,
        field("note", "Note", control("textarea", "note", { rows: 3, onchange: (e) => { const note = e.target.value.trim().replace(/\s+/g, " "); change(`Note on topic ${k}`, (s) => { if (note) s.notes[k] = note; else delete s.notes[k]; }, true); } }, state.notes[k] || ""))),
      el("div", {}, documents("Typical documents", data.topics[k].typical, k, ""), documents("Borderline documents", data.topics[k].border, k, "near"), documents("Documents that have it second", texts.ready ? second(k) : [], k, "in"))));
    if (focus) $(`[data-review="${focus}"]`, box)?.focus();
  }

  // ---- files
  function toml() {
    const lines = ["# Review of topics, saved by a report of nlpkit. Apply it: nlpkit edit RUN FILE -o NEW/"];
    const table = (head, rows) => rows.length && lines.push("", `[${head}]`, ...rows.map(([k, v]) => `${k} = ${JSON.stringify(v)}`));
    if (state.coder) lines.push(`coder = ${JSON.stringify(state.coder)}`);
    const groups = data.topics.map((_, k) => k).filter((k) => members(k).length).map((k) => [k, ...members(k)]);
    if (groups.length) lines.push(`merge = ${JSON.stringify(groups)}`);
    if (state.hidden.length || hidden.length) lines.push(`hide = ${JSON.stringify(state.hidden)}`);
    const cleared = (now, before) => [...Object.entries(now), ...Object.keys(before).filter((k) => now[k] == null).map((k) => [k, ""])];
    table("rename", Object.entries(state.names));
    table("split", Object.entries(state.split));
    table("judgements", cleared(state.judged, judgements));
    table("notes", cleared(state.notes, notes));
    table("open", Object.entries(state.open));
    const q = (t) => JSON.stringify(t).replaceAll("\x7f", "\\u007f");
    lines.push("", "# The topics that the numbers mean; leave these lines as they are.", "[topics]", ...data.topics.map((t, k) => `${k} = { name = ${q(t.label)}, words = [${t.top.map(q).join(", ")}] }  # size ${t.size}`));
    return lines.join("\n").replaceAll("\x7f", "\\u007f") + "\n";
  }
  const book = () => [["topic", "name", "merged into", "parts", "hidden", "judgement", "note", "documents", "share", "words", "typical document", "coder"],
    ...data.topics.map((t, k) => [k, state.into[k] == null ? state.names[k] || t.label : t.label, state.into[k] ?? "", state.split[k] || 1, state.hidden.includes(k) ? "yes" : "", state.judged[k] || "", state.notes[k] || "", t.size, t.share, t.top.join(" "), t.typical[0] ? t.typical[0].title || t.typical[0].id : "", state.coder])];
  async function open(file) {
    let found;
    try {
      found = readEdits(await file.text());
      const other = Object.entries(found.topics || {});
      if (other.length !== K || other.some(([k, text]) => !text.includes(`words = [${words(k).map((w) => JSON.stringify(w)).join(", ")}]`))) throw new Error("its topics are not those of this page");
      const beyond = Object.keys(found).filter((part) => !["coder", "merge", "hide", "rename", "split", "judgements", "notes", "open", "topics"].includes(part));
      if (beyond.length) throw new Error(`this page cannot show ${beyond.join(", ")}`);
    } catch (error) { return live(`${file.name} cannot be opened: ${error.message}.`); }
    const filled = (before, now) => Object.fromEntries(Object.entries({ ...before, ...now }).filter(([, v]) => v !== ""));
    const into = {};
    for (const [head, ...rest] of found.merge || []) for (const a of rest) into[a] = head;
    change(`${file.name} opened; Undo brings back what was here`, (s) => Object.assign(s, { coder: found.coder || s.coder, names: found.rename || {}, split: found.split || {}, into, hidden: found.hide || [...hidden], judged: filled(judgements, found.judgements), notes: filled(notes, found.notes), open: found.open || {} }));
    coder.value = state.coder;
  }
  const coder = el("input", { "aria-label": "Coder", size: 12, onchange: (e) => change("Coder", (s) => { s.coder = e.target.value.trim(); }, true) });
  const pick = el("input", { type: "file", accept: ".toml", "aria-label": "Open edits", onchange: (e) => { if (e.target.files[0]) open(e.target.files[0]); e.target.value = ""; } });
  const slug = () => state.coder.replace(/[^\p{L}\p{N}]+/gu, "-") || "edits";
  host.append(soft("Read the documents of each topic and decide. Nothing leaves this page: the decisions stay in this browser until you save them. Keys, while the focus is in this part and not in a text: 1, 2, 3 judge; n and p go on and back; h hides; u undoes, r redoes."), box, told,
    bar(el("label", {}, "Coder", coder), button("Save edits.toml", () => save(slug() + ".toml", toml(), "application/toml")), csvButton("codebook", book, "Save code book (CSV)"),
      el("label", {}, "Open edits", pick), button("Start over", () => { change("All decisions are gone; Undo brings them back", (s) => Object.assign(s, JSON.parse(JSON.stringify(first)))); coder.value = ""; })));
  host.addEventListener("keydown", (e) => {
    const writes = e.target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "z" && !writes) { e.preventDefault(); step(e.shiftKey ? 1 : -1); }
    if (writes || e.ctrlKey || e.metaKey || e.altKey) return;
    const act = { 1: () => judge(JUDGEMENTS[0]), 2: () => judge(JUDGEMENTS[1]), 3: () => judge(JUDGEMENTS[2]), n: () => go(chosen + 1), p: () => go(chosen - 1), h: () => state.into[chosen] == null && hide(), u: () => step(-1), r: () => step(1) }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  try {
    const stored = JSON.parse(localStorage.getItem(key));
    if (stored) { past = stored.past; at = past.length - 1; state = JSON.parse(past[at]); chosen = clamp(stored.chosen, 0, K - 1); }
  } catch { /* nothing is kept, or not by this page */ }
  coder.value = state.coder;
  show();
  return show;
}
