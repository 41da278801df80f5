// ---- the words of all topics side by side; a word that is clicked shows its topics, here and among the circles (as in LDAvis)
function makeWords(data, colours, topics, selection) {
  const host = section("words"), K = data.topics.length, box = el("div", { class: "word-grid" }), said = el("div", { "aria-live": "polite" });
  if (!host) return;
  let all = false, n = 10, chosen = null;
  // P(k | word) = share of the tokens of k × how many times as often the word is there
  const sharesOf = (word) => data.topics.map((t, k) => { const w = t.terms.find((w) => w.t === word); return { k, p: w ? w.p : 0, share: w && t.tokens != null ? min(1, t.tokens * w.l) : 0 }; });
  function ask(word) {
    chosen = word === chosen ? null : word;
    const of = chosen == null ? [] : sharesOf(word).filter((r) => r.p).sort((a, b) => b.share - a.share), rest = 1 - of.reduce((s, r) => s + r.share, 0), high = max(1e-9, ...of.map((r) => r.share));
    const bar = (share, colour) => { const node = el("span", { class: "word-bar" }); node.style.width = 9 * (share / high) + "rem"; node.style.background = colour; return node; };
    said.replaceChildren(...(chosen == null ? [] : [el("h3", { text: `“${word}” among the words of ${of.length} of ${K} topics` }), el("ul", { class: "list" }, of.map((r) => el("li", {}, bar(r.share, colours[r.k]), ` ${percent(r.share)} of its occurrences: ${topicName(data, r.k)}`, el("span", { class: "soft", text: ` (${percent(r.p)} of its words)` }))), rest > 0.005 ? el("li", { class: "soft", text: `${percent(rest)} elsewhere` }) : null), el("p", {}, button("Back to all words", () => ask(chosen), { class: "small" }), selection.hasTexts() ? button("Select its documents", () => selection.set("word", word), { class: "small" }) : "", csvButton("word-" + word, () => [["topic", "name", "share of the word", "share in the topic"], ...of.map((r) => [r.k, data.topics[r.k].label, r.share, r.p])]))]));
    topics.sizes(chosen == null ? null : sharesOf(word).map((r) => r.share));
    show();
  }
  function show() {
    const active = document.activeElement?.dataset?.word, at = document.activeElement?.closest?.("figure")?.dataset.k;
    box.replaceChildren(...listedTopics(data).slice(0, all ? K : 12).map((k) => el("figure", { "data-k": k }, el("figcaption", { text: topicName(data, k) }), wordBars(data.topics[k], topics.ordered(k), colours[k], n, { ask, chosen }))));
    if (active) box.querySelector(`[data-k="${at}"] [data-word="${CSS.escape(active)}"]`)?.focus();
  }
  topics.onOrder(show);
  selection.onSettled(show);
  host.append(bar(topics.controls(), el("label", {}, "Words", el("select", { onchange: (e) => { n = +e.target.value; show(); } }, [10, 20, 30].map((v) => el("option", { value: v, text: v })))), K > 12 ? toggle("All topics", false, (on) => { all = on; show(); }) : null), soft("Wide bar: share among the words of the topic; narrow bar: among all words. Click a word for its topics."), said, box);
  show();
}

// ---- how alike topics are, in the order of the tree
function makeSimilarity(data, host) {
  const given = data.relations.similarity, merges = data.relations.tree, K = data.topics.length;
  if (!given || !merges) return;
  const below = data.topics.map((_, k) => [k]);
  for (const [a, b] of merges) below.push(below[a].length >= below[b].length ? [...below[a], ...below[b]] : [...below[b], ...below[a]]);
  const order = below.at(-1).filter((k) => shownTopics(data).includes(k)), N = order.length, room = roomOf(host, 900), wide = room > 620, left = wide ? 230 : 24, cell = max(3, min(wide ? 20 : 26, (room - left - 4) / N));
  const value = (i, j) => { const [a, b] = [order[i], order[j]].sort((x, y) => x - y); return given[(a * (2 * K - a - 1)) / 2 + b - a - 1]; };
  const low = min(...given), high = max(...given), paths = Array(24).fill("");
  for (let i = 0; i < N; i++) for (let j = 0; j < N; j++) if (i !== j) paths[Math.round(23 * (value(i, j) - low) / (high - low || 1))] += `M${left + j * cell},${18 + i * cell}h${cell}v${cell}h${-cell}z`;
  const said = soft(`Dark blue: ${low.toFixed(2)}, least alike; yellow: ${high.toFixed(2)}, most alike. Point at a cell for its topics.`), named = cell >= 11;
  const picture = fill(drawing(left + N * cell + 2, 20 + N * cell, "Similarity of the topics, in the order of the tree", left + N * cell + 2), {}, [paths.map((d, i) => d && svg("path", { d, fill: onScale(i / 23) })),
    named ? order.map((k, i) => [svg("text", { x: left - 5, y: 18 + i * cell + cell / 2 + 4, "text-anchor": "end", text: (wide ? topicName(data, k).slice(0, 32) + " " : "") + data.topics[k].topic }), svg("text", { x: left + i * cell + cell / 2, y: 12, "text-anchor": "middle", text: data.topics[k].topic })]) : null]);
  picture.addEventListener("pointermove", (e) => {
    const box = picture.getBoundingClientRect(), scale = (left + N * cell + 2) / box.width, j = floor(((e.clientX - box.left) * scale - left) / cell), i = floor(((e.clientY - box.top) * scale - 18) / cell);
    if (i !== j && i >= 0 && j >= 0 && i < N && j < N) said.textContent = `${quoted(data, order[i])} and ${quoted(data, order[j])}: ${value(i, j).toFixed(2)}`;
  });
  const pairs = [];
  for (let i = 0; i < N; i++) for (let j = 0; j < i; j++) pairs.push([order[i], order[j], value(i, j)]);
  pairs.sort((a, b) => b[2] - a[2]);
  host.append(el("h3", { text: "Similarity" }), bar(svgButton("similarity", () => picture), csvButton("similarity", () => [["topic", "other", "similarity"], ...pairs.map(([a, b, v]) => [data.topics[a].label, data.topics[b].label, v])])), said, picture, el("p", { text: "Most alike: " + pairs.slice(0, 5).map(([a, b, v]) => `${quoted(data, a)} and ${quoted(data, b)} (${v.toFixed(2)})`).join(", ") + "." }));
}
