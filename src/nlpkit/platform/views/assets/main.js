// ---- the page
(async () => {
  // a file of several runs: ?run=1 shows the second
  const picker = $("#run"), which = picker ? clamp(+new URLSearchParams(location.search).get("run") || 0, 0, picker.options.length - 1) : 0, suffix = which ? "-" + which : "";
  if (picker) { picker.value = which; picker.addEventListener("change", () => (location.search = "?run=" + picker.value)); }
  if (which) {
    const other = $("#run" + suffix);
    document.title = other.dataset.title;
    for (const part of ["header", "nav", "main"]) $(part).replaceWith($(part, other.content));
  }
  const data = await unpack("data" + suffix), texts = { ready: false, ids: [], titles: [], texts: [] };
  // on a phone, the tables of the page stand as lists: each cell below the other, with what its column is called
  for (const table of document.querySelectorAll("main table")) {
    if (table.tHead.rows[0].cells.length < 3) continue;
    table.classList.add("stack");
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, j) => { if (j && cell.textContent) cell.dataset.head = table.tHead.rows[0].cells[j].textContent; });
  }
  let selection = null, reviewed = null;
  if (data.topics) {
    const { x, y, topic, other_x, other_y, other_topic } = data.arrays, host = section("map");
    selection = makeSelection(data, texts);
    host.append(selection.search, selection.brush);
    if (x) makeMap(data, selection, { x, y, topic, topics: data.topics, colours: data.colours, shapes: data.shapes, key: "lasso", host });
    else host.append(selection.side);
    const other = section("other-map");
    if (other) makeMap(data, selection, { x: other_x, y: other_y, topic: other_topic, topics: data.compared.before, colours: data.compared.colours, shapes: data.compared.shapes, key: "other", host: other });
    (other || host).append(selection.apart);
    const topics = makeTopics(data, data.colours, selection);
    makeOpening(data, data.colours, selection, topics);
    makeEvidence(data);
    makeTime(data, data.colours, topics, selection);
    makeColumns(data, selection);
    makeEffects(data);
    makeNetwork(data, data.colours);
    makeTree(data, data.colours, selection);
    makeDistances(data, data.colours, topics);
    makeWords(data, data.colours, topics, selection);
    makeComparison(data, data.colours);
    if (data.review) reviewed = makeReview(data, texts);
  } else makeScores(data);
  reachable();
  addEventListener("resize", reachable);
  addEventListener("toggle", reachable, true);
  document.documentElement.dataset.ready = "page";
  await new Promise((done) => setTimeout(done));
  Object.assign(texts, await unpack("texts" + suffix), { ready: true });
  selection?.follow();
  reviewed?.();
  document.documentElement.dataset.ready = "all";
})().catch((error) => {
  document.querySelector("main").prepend(el("p", { class: "note", role: "alert", text: "This page could not be built: " + error.message + ". A browser of 2023 or later is needed." }));
});
