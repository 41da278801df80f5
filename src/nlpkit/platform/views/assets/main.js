// ---- the page
(async () => {
  const data = await unpack("data"), texts = { ready: false, ids: [], titles: [], texts: [] };
  let map = null;
  if (data.topics) {
    map = data.arrays.x && section("map") ? makeMap(data, texts) : null;
    const topics = makeTopics(data, data.colours, map);
    makeOpening(data, data.colours, map, topics);
    makeEvidence(data);
    makeTime(data, data.colours, topics);
    makeColumns(data);
    makeTree(data, data.colours, map);
    makeDistances(data, data.colours, topics);
    makeComparison(data, data.colours);
  } else makeScores(data);
  document.documentElement.dataset.ready = "page";
  await new Promise((done) => setTimeout(done));
  Object.assign(texts, await unpack("texts"), { ready: true });
  map?.follow();
  document.documentElement.dataset.ready = "all";
})().catch((error) => {
  document.querySelector("main").prepend(el("p", { class: "note", role: "alert", text: "This page could not be built: " + error.message + ". A browser of 2023 or later is needed." }));
});
