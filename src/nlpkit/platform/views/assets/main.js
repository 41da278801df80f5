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
  let map = null;
  let reviewed = null;
  if (data.topics) {
    map = data.arrays.x && section("map") ? makeMap(data, texts) : null;
    const topics = makeTopics(data, data.colours, map);
    makeOpening(data, data.colours, map, topics);
    makeEvidence(data);
    makeTime(data, data.colours, topics);
    makeColumns(data);
    makeEffects(data);
    makeNetwork(data, data.colours);
    makeTree(data, data.colours, map);
    makeDistances(data, data.colours, topics);
    makeWords(data, data.colours, topics);
    makeComparison(data, data.colours);
    if (data.review) reviewed = makeReview(data, texts);
  } else makeScores(data);
  for (const wide of document.querySelectorAll(".wide")) if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  document.documentElement.dataset.ready = "page";
  await new Promise((done) => setTimeout(done));
  Object.assign(texts, await unpack("texts" + suffix), { ready: true });
  map?.follow();
  reviewed?.();
  document.documentElement.dataset.ready = "all";
})().catch((error) => {
  document.querySelector("main").prepend(el("p", { class: "note", role: "alert", text: "This page could not be built: " + error.message + ". A browser of 2023 or later is needed." }));
});
