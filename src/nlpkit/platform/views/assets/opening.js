// ---- the opening: a card for each topic, and what the scores mean
function makeOpening(data, colours, selection, topics) {
  const host = section("overview"), cards = el("ul", { class: "cards" }), FIRST = 12, K = data.topics.length;
  let all = K <= FIRST, counts = null;
  const shaky = (t) => t.stability != null && t.stability < data.least_stable;
  function card(t, k) {
    const head = button(t.label, () => selection.topics([k]), { class: "link", dir: "auto", title: "Select its documents" });
    const bar = el("span", { class: "share" });
    bar.style.width = max(100 * (t.share / max(...data.topics.map((o) => o.share))), 1) + "%";
    bar.style.background = colours[k];
    return el("li", { class: counts && !counts.get(k) ? "dim" : null }, el("h3", {}, head), bar, el("p", {}, data.mixture ? `${percent(t.share)} of the words; main topic of ${count(t.size)} documents` : `${percent(t.share)}, ${count(t.size)} documents`, counts ? `; ${count(counts.get(k) || 0)} selected` : null),
      t.stability == null ? null : el("p", { class: shaky(t) ? "shaky" : "soft", text: `stability ${t.stability.toFixed(2)}${shaky(t) ? " ! do not rely on it" : ""}` }),
      el("p", { class: "soft", text: t.top.filter((w) => !t.label.split(/, */).includes(w)).slice(0, 6).join(", "), dir: "auto" }), t.typical[0]?.title ? el("p", { class: "typical", dir: "auto", text: "“" + t.typical[0].title + "”" }) : null);
  }
  const more = toggle(`All ${K} topics`, false, (on) => { all = on; show(); });
  function show() {
    cards.replaceChildren(...shownTopics(data).map((k) => [data.topics[k], k]).slice(0, all ? K : FIRST).map(([t, k]) => card(t, k)));
    topics.rows.forEach((row, k) => row.classList.toggle("dim", !!counts && !counts.get(k)));
  }
  selection.onChange(() => { if (counts || data.selected) { counts = data.selected; show(); } });
  // the scores of each topic on their scales, below what they mean
  const scales = [["npmi", "NPMI", -1], ["exclusivity", "Exclusivity", 0], ["stability", "Stability", 0]].map(([key, name, low]) => {
    const values = shownTopics(data).map((k) => data.topics[k][key]).filter((v) => v != null && !Number.isNaN(v)), X = (v) => 10 + (300 * (v - low)) / (1 - low);
    return values.length ? el("div", {}, el("h3", { text: name }), svg("svg", { viewBox: "0 0 320 40", class: "chart scale", role: "img", "aria-label": `${name} of ${values.length} topics, from ${min(...values).toFixed(2)} to ${max(...values).toFixed(2)}, on a scale from ${low} to 1` }, svg("line", { x1: 10, x2: 310, y1: 12, y2: 12, class: "grid" }), values.map((v) => svg("circle", { cx: X(v), cy: 12, r: 5, class: "all" })), [low, (low + 1) / 2, 1].map((v) => svg("text", { x: X(v), y: 34, "text-anchor": "middle", text: String(v) })))) : null;
  });
  $("#scores-mean")?.append(el("div", { class: "two" }, scales));
  host.querySelector("h2").after(cards, K > FIRST ? more : "");
  show();
}
