// ---- attention: a map of each head, the rollout, and the text shaded by what one token looks at
(async () => {
  const data = await unpack("data"), cells = data.arrays.cells, T = data.tokens.length, L = data.layers, H = data.heads;
  const state = { map: L * H + L - 1, from: data.reader };
  const weight = (map, i, j) => cells[(map * T + i) * T + j] / 65535;
  const mapName = (map) => map < L * H ? `layer ${floor(map / H) + 1}, head ${map % H + 1}` : `rollout to layer ${map - L * H + 1}`;
  // What is small beside the largest weight stays visible: the square root of its share.
  function draw(canvas, map, size) {
    canvas.width = canvas.height = T * size;
    const context = canvas.getContext("2d");
    for (let i = 0; i < T; i++) {
      let top = 1e-9;
      for (let j = 0; j < T; j++) top = max(top, weight(map, i, j));
      for (let j = 0; j < T; j++) {
        context.fillStyle = onScale(sqrt(weight(map, i, j) / top));
        context.fillRect(j * size, i * size, size, size);
      }
    }
  }
  const tokens = el("p", { class: "tokens" }), said = el("p", { class: "note", role: "status" });
  const choice = el("select", { "aria-label": "Map", onchange: () => { state.map = +choice.value; update(); } },
    Array.from({ length: L }, (_, i) => L - 1 - i).map((layer) => el("option", { value: L * H + layer, text: mapName(L * H + layer) })),
    Array.from({ length: L * H }, (_, map) => el("option", { value: map, text: mapName(map) })));
  section("text").append(el("div", { class: "bar" }, el("label", {}, "Map ", choice)),
    el("p", { class: "note", text: "Choose a token: the others are shaded by how much it looks at them." }), tokens, said);
  const buttons = data.tokens.map((token, i) => button(token, () => { state.from = i; update(); }, { class: "token" }));
  tokens.append(...buttons);

  const grid = el("div", { class: "head-grid" });
  for (let layer = 0; layer < L; layer++) {
    const row = el("div", { class: "head-row" }, el("span", { class: "note", text: String(layer + 1), title: `layer ${layer + 1}` }));
    for (let head = 0; head < H; head++) {
      const map = layer * H + head, canvas = el("canvas", { "aria-hidden": "true" });
      draw(canvas, map, max(1, floor(60 / T)));
      row.append(el("button", { type: "button", class: "head", "aria-label": mapName(map), title: mapName(map), "data-map": map,
        onclick: () => { state.map = map; update(); section("one").scrollIntoView(); } }, canvas));
    }
    grid.append(row);
  }
  section("heads").append(el("p", { class: "note", text: "A row for each layer, a map for each head; bright cells are large weights, each row by its own largest. Choose one to see it below." }), el("div", { class: "wide" }, grid));

  const caption = el("h3"), picture = el("div", { class: "wide" });
  section("one").append(caption, picture, csvButton("attention", () => [["from", "to", "weight"], ...data.tokens.flatMap((a, i) => data.tokens.map((b, j) => [a, b, weight(state.map, i, j)]))]));
  function big() {
    const size = 16, left = 90, top = 90, side = T * size;
    const axis = (i, across) => svg("text", { class: "axis", text: data.tokens[i].slice(0, 12), "text-anchor": across ? "start" : "end",
      transform: across ? `translate(${left + i * size + 12},${top - 5}) rotate(-60)` : `translate(${left - 5},${top + i * size + 12})` });
    const rects = [];
    for (let i = 0; i < T; i++) {
      const most = max(...data.tokens.map((_, j) => weight(state.map, i, j)), 1e-9);
      for (let j = 0; j < T; j++) {
        const w = weight(state.map, i, j);
        rects.push(svg("rect", { x: left + j * size, y: top + i * size, width: size, height: size, fill: onScale(sqrt(w / most)) },
          svg("title", { text: `${data.tokens[i]} → ${data.tokens[j]}: ${w.toFixed(4)}` })));
      }
    }
    const width = left + side + 60, height = top + side + 4;
    picture.replaceChildren(svg("svg", { class: "map-of-head", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Attention, ${mapName(state.map)}` },
      data.tokens.map((_, i) => [axis(i, true), axis(i, false)]), rects));
  }
  function update() {
    choice.value = String(state.map);
    const row = data.tokens.map((_, j) => weight(state.map, state.from, j)), most = max(...row, 1e-9);
    buttons.forEach((node, j) => {
      node.setAttribute("aria-pressed", j === state.from);
      const share = row[j] / most;
      node.style.setProperty("--heat", share.toFixed(3));
      node.title = `${data.tokens[state.from]} → ${data.tokens[j]}: ${row[j].toFixed(4)}`;
    });
    const order = row.map((w, j) => [w, j]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 3);
    said.textContent = `${mapName(state.map)}: ${data.tokens[state.from]} looks most at ` + order.map(([w, j]) => `${data.tokens[j]} (${percent(w)})`).join(", ");
    for (const node of grid.querySelectorAll("button")) node.setAttribute("aria-pressed", +node.dataset.map === state.map);
    caption.textContent = mapName(state.map)[0].toUpperCase() + mapName(state.map).slice(1);
    big();
  }
  update();
  document.documentElement.dataset.ready = "all";
})().catch((error) => {
  document.querySelector("main").prepend(el("p", { class: "note", role: "alert", text: "This page could not be built: " + error.message + ". A browser of 2023 or later is needed." }));
});
