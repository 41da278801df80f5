// ---- the map: documents as points on a canvas, names of topics in layers, hover, click, lasso, search, colours
function makeMap(data, texts) {
  const { x, y, topic, prob } = data.arrays, n = data.n;
  const canvas = el("canvas", { tabindex: 0, role: "application", "aria-label": `Map of ${count(n)} documents. Arrow keys move, plus and minus zoom, 0 shows all, Enter opens the document in the middle.` });
  const tip = el("div", { class: "tip", hidden: true });
  const stage = el("div", { class: "stage" }, canvas, tip);
  const side = el("div", { class: "side", "aria-live": "polite" });
  const ctx = canvas.getContext("2d");
  const px = Float32Array.from(x, (v) => v / 65535), py = Float32Array.from(y, (v) => v / 65535);
  let width = 0, height = 0, scale = 1, zoom = 1, left = 0, above = 0;
  let match = null, chosen = -1, lasso = null, lassoMode = false, queued = false, layerChoice = "auto", showContours = true;

  // a grid over the points: those of cell c are order[starts[c]] …
  const G = 96, cellOf = (i) => Math.min(G - 1, Math.floor(px[i] * G)) + G * Math.min(G - 1, Math.floor(py[i] * G));
  const starts = new Int32Array(G * G + 1), order = new Int32Array(n);
  for (let i = 0; i < n; i++) starts[cellOf(i) + 1]++;
  for (let c = 0; c < G * G; c++) starts[c + 1] += starts[c];
  const at = starts.slice();
  for (let i = 0; i < n; i++) order[at[cellOf(i)]++] = i;

  // names stand where most documents of their topic are
  function densest(of, K) {
    const H = 24, counts = new Map(), places = [];
    for (let i = 0; i < n; i++) if (of[i] >= 0) {
      const key = of[i] * H * H + Math.min(H - 1, Math.floor(px[i] * H)) + H * Math.min(H - 1, Math.floor(py[i] * H));
      counts.set(key, (counts.get(key) || 0) + 1);
    }
    const best = new Array(K).fill(null);
    for (const [key, c] of counts) { const k = Math.floor(key / (H * H)); if (!best[k] || c > best[k][1] || (c === best[k][1] && key < best[k][0])) best[k] = [key, c]; }
    const sums = best.map(() => [0, 0, 0]);
    for (let i = 0; i < n; i++) {
      const k = of[i];
      if (k < 0 || !best[k]) continue;
      const cell = best[k][0] % (H * H), cx = cell % H, cy = Math.floor(cell / H);
      if (Math.abs(px[i] * H - cx - 0.5) <= 1.5 && Math.abs(py[i] * H - cy - 0.5) <= 1.5) { sums[k][0] += px[i]; sums[k][1] += py[i]; sums[k][2]++; }
    }
    for (let k = 0; k < K; k++) places.push(sums[k][2] ? [sums[k][0] / sums[k][2], sums[k][1] / sums[k][2]] : null);
    return places;
  }
  const run = { names: data.topics.map((t) => t.label), sizes: data.topics.map((t) => t.size), of: topic };
  let base = data.layers.findIndex((rows) => rows.some((r) => r.chosen));
  const layers = data.layers.length && base >= 0 ? data.layers.map((rows, l) => (l === base ? run : { names: rows.map((r) => r.label), sizes: rows.map((r) => r.size), of: data.arrays["layer_" + l] })) : [run];
  base = Math.max(base, 0);
  for (const layer of layers) layer.places = densest(layer.of, layer.names.length);
  const colours = data.colours;

  // ---- colours: groups of points that are drawn together
  let groups = [], colourBy = "topic", isolated = null, legend = el("ul", { class: "legend" });
  function group(keyOf, names, colourOf) {
    const buckets = names.map(() => []);
    for (let i = 0; i < n; i++) buckets[keyOf(i)].push(i);
    groups = names.map((name, g) => ({ name, colour: colourOf(g), rows: Int32Array.from(buckets[g]) }));
  }
  function colour(by) {
    colourBy = by;
    isolated = null;
    const column = data.columns.findIndex((c) => "column:" + c.name === by);
    if (by === "topic") group((i) => (topic[i] < 0 ? run.names.length : topic[i]), [...run.names, "no topic"], (g) => colours[g] || NONE);
    else if (by === "prob") steps(Float32Array.from(prob, (v) => v / 255), (v) => v.toFixed(2));
    else if (data.columns[column].type === "category") {
      const { values } = data.columns[column], codes = data.arrays["c" + column];
      group((i) => (codes[i] < 0 ? values.length : codes[i]), [...values, "no value"], (g) => (g === values.length ? NONE : PALETTE[g % PALETTE.length]));
    } else steps(data.arrays["c" + column], data.columns[column].type === "date" ? day : short);
    showLegend();
    draw();
  }
  function steps(values, format) {
    const sorted = Float32Array.from(values.filter((v) => !Number.isNaN(v))).sort(), S = 12;
    const edges = Array.from({ length: S - 1 }, (_, s) => sorted[Math.floor(((s + 1) * sorted.length) / S)]);
    const step = (v) => { let s = 0; while (s < S - 1 && v >= edges[s]) s++; return s; };
    group((i) => (Number.isNaN(values[i]) ? S : step(values[i])), [...Array.from({ length: S }, (_, s) => (s ? "from " + format(edges[s - 1]) : "up to " + format(edges[0]))), "no value"], (g) => (g === S ? NONE : onScale(g / (S - 1))));
  }
  function showLegend() {
    const ranked = colourBy === "topic" || data.columns.some((c) => c.type === "category" && "column:" + c.name === colourBy);
    const shown = groups.filter((g) => g.rows.length);
    if (ranked) shown.sort((a, b) => b.rows.length - a.rows.length);
    legend.replaceChildren(...shown.slice(0, 40).map((g) => {
      const key = el("span", { class: "key" });
      key.style.background = g.colour;
      const toggle = button("", () => { isolated = isolated === g.name ? null : g.name; isolate(isolated && g); showLegend(); }, { "aria-pressed": String(isolated === g.name) });
      toggle.append(key, `${g.name} (${count(g.rows.length)})`);
      return el("li", {}, toggle);
    }));
  }
  function isolate(g) {
    match = null;
    if (g) { match = new Uint8Array(n); for (const i of g.rows) match[i] = 1; list(g.name, [...g.rows]); } else { listeners.forEach((f) => f(null)); side.replaceChildren(hint()); }
    draw();
  }

  // ---- drawing
  const SX = (i) => left + px[i] * scale * zoom, SY = (i) => above + py[i] * scale * zoom;
  function resize() {
    const box = stage.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!box.width) return;
    width = box.width; height = box.height;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    scale = Math.min(width, height) * 0.94;
    all();
  }
  // All but the farthest hundredth of the documents on each side; a lone group far off would make the rest small.
  const spread = [px, py].map((p) => { const sorted = Float32Array.from(p).sort(); return [sorted[Math.floor(n / 100)], sorted[Math.ceil((n - 1) * 0.99)]]; });
  let fit = 1;
  function all() {
    const room = [width, height].map((size, a) => (size - 60) / (scale * Math.max(spread[a][1] - spread[a][0], 0.02)));
    zoom = fit = clamp(Math.min(...room), 0.5, 8);
    [left, above] = [width, height].map((size, a) => size / 2 - (scale * zoom * (spread[a][0] + spread[a][1])) / 2);
    draw();
  }
  function zoomTo(factor, cx = width / 2, cy = height / 2) {
    const next = clamp(zoom * factor, fit / 4, fit * 200);
    left = cx - ((cx - left) * next) / zoom;
    above = cy - ((cy - above) * next) / zoom;
    zoom = next;
    drawMoving();
  }
  const draw = () => { if (!queued) { queued = true; requestAnimationFrame(paint); } };
  let stride = 1, rest = 0;
  // While many points move, a part of them is drawn; all of them as soon as they rest.
  function drawMoving() {
    stride = Math.ceil(n / 25000);
    clearTimeout(rest);
    if (stride > 1) rest = setTimeout(() => { stride = 1; draw(); }, 140);
    draw();
  }
  function radius() {
    const plain = n > 30000 ? 0.9 : n > 8000 ? 1.2 : n > 1500 ? 1.8 : 2.8;
    return Math.min(plain * Math.pow(Math.max(zoom / fit, 0.2), 0.45), 6);
  }
  function paint() {
    queued = false;
    const style = getComputedStyle(document.documentElement), r = radius(), faint = style.getPropertyValue("--line");
    ctx.clearRect(0, 0, width, height);
    if (showContours) drawContours(style);
    for (const pass of match ? [0, 1] : [1]) for (const g of groups) {
      ctx.fillStyle = pass ? g.colour : faint;
      ctx.globalAlpha = pass ? 0.9 : 0.8;
      const round = r >= 1.7;
      if (round) ctx.beginPath();
      for (let at = 0; at < g.rows.length; at += stride) {
        const i = g.rows[at];
        if (match && match[i] !== pass) continue;
        const sx = SX(i), sy = SY(i);
        if (sx < -9 || sy < -9 || sx > width + 9 || sy > height + 9) continue;
        if (round) { ctx.moveTo(sx + r, sy); ctx.arc(sx, sy, r, 0, 6.2832); } else ctx.fillRect(sx - r, sy - r, 2 * r, 2 * r);
      }
      if (round) ctx.fill();
    }
    ctx.globalAlpha = 1;
    names(style);
    if (chosen >= 0) { ctx.strokeStyle = style.getPropertyValue("--fg"); ctx.lineWidth = 2; ctx.beginPath(); ctx.arc(SX(chosen), SY(chosen), r + 4, 0, 6.2832); ctx.stroke(); }
    if (lasso) { ctx.strokeStyle = style.getPropertyValue("--accent"); ctx.lineWidth = 1.5; ctx.beginPath(); lasso.forEach(([a, b], i) => (i ? ctx.lineTo(a, b) : ctx.moveTo(a, b))); ctx.stroke(); }
  }
  // Names of the layer that fits the zoom, largest topics first: none over another, beside the points, with a line to the topic.
  function names(style) {
    const l = layerChoice === "auto" ? clamp(base + Math.floor(Math.log2(zoom / fit) / 1.2 + 0.01), 0, layers.length - 1) : +layerChoice;
    if (layerChoice === "none") return;
    const layer = layers[l], placed = [], biggest = Math.max(...layer.sizes), C = 8, W = Math.ceil(width / C) + 2, H = Math.ceil(height / C) + 2;
    const full = new Int32Array(W * H); // how many cells up and to the left of a corner hold points
    for (let i = 0; i < n; i += stride) { const a = Math.floor(SX(i) / C) + 1, b = Math.floor(SY(i) / C) + 1; if (a > 0 && b > 0 && a < W && b < H) full[a + b * W] = 1; }
    for (let b = 1; b < H; b++) for (let a = 1; a < W; a++) full[a + b * W] += full[a - 1 + b * W] + full[a + (b - 1) * W] - full[a - 1 + (b - 1) * W];
    const cell = (v, most) => clamp(Math.floor(v / C), 0, most - 1);
    const covered = (x, y, half, tall) => { const a = cell(x - half, W), b = cell(y - tall, H), c = cell(x + half + C, W), d = cell(y + tall + C, H); return full[c + d * W] - full[a + d * W] - full[c + b * W] + full[a + b * W]; };
    // whether a line from a topic to its name passes another name
    const crosses = (x0, y0, x1, y1, box) => { for (let s = 0; s < 10; s++) if (Math.abs(x0 + (s / 10) * (x1 - x0) - box.x) < box.half && Math.abs(y0 + (s / 10) * (y1 - y0) - box.y) < box.tall) return true; return false; };
    ctx.lineJoin = "round";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    for (const k of layer.names.map((_, i) => i).sort((a, b) => layer.sizes[b] - layer.sizes[a] || a - b)) {
      const place = layer.places[k];
      if (!place || placed.length >= (width * height) / 16000) continue;
      const size = 11 + 5 * Math.sqrt(layer.sizes[k] / biggest), cx = left + place[0] * scale * zoom, cy = above + place[1] * scale * zoom;
      if (cx < 0 || cy < 0 || cx > width || cy > height) continue;
      ctx.font = `600 ${size}px system-ui, sans-serif`;
      const half = ctx.measureText(layer.names[k]).width / 2 + 4, tall = size * 0.72;
      if (2 * half > width) continue;
      let free = null, least = Infinity;
      for (const away of [0, 12, 24, 40, 60, 85, 115, 150, 190, 240]) for (let turn = 0; turn < (away ? 16 : 1); turn++) {
        const angle = (turn * Math.PI) / 8, ax = clamp(cx + (away ? (half + away) * Math.cos(angle) : 0), half, width - half), ay = cy + (away ? (tall + away) * Math.sin(angle) : 0);
        if (ay < tall || ay > height - tall || placed.some((p) => Math.abs(ax - p.x) < half + p.half && Math.abs(ay - p.y) < tall + p.tall)) continue;
        const crossed = placed.filter((p) => crosses(cx, cy, ax, ay, p) || crosses(p.cx, p.cy, p.x, p.y, { x: ax, y: ay, half, tall })).length;
        const cost = 3 * covered(ax, ay, half, tall) + away / 6 + 12 * crossed;
        if (cost < least) { least = cost; free = [ax, ay]; }
      }
      if (free) placed.push({ k, x: free[0], y: free[1], half, tall, size, cx, cy });
    }
    ctx.strokeStyle = style.getPropertyValue("--soft");
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (const p of placed) {
      const ex = clamp(p.cx, p.x - p.half, p.x + p.half), ey = clamp(p.cy, p.y - p.tall, p.y + p.tall);
      if (Math.hypot(ex - p.cx, ey - p.cy) > 6) { ctx.moveTo(ex, ey); ctx.lineTo(p.cx, p.cy); }
    }
    ctx.stroke();
    for (const p of placed) {
      ctx.font = `600 ${p.size}px system-ui, sans-serif`;
      ctx.lineWidth = 4;
      ctx.strokeStyle = style.getPropertyValue("--panel");
      ctx.strokeText(layer.names[p.k], p.x, p.y);
      ctx.fillStyle = style.getPropertyValue("--fg");
      ctx.fillText(layer.names[p.k], p.x, p.y);
    }
  }

  // ---- contours: lines of equal density, as segments in the unit square
  const contours = (() => {
    const S = 128, out = [];
    let grid = new Float32Array(S * S);
    for (let i = 0; i < n; i++) grid[Math.min(S - 1, Math.floor(px[i] * S)) + S * Math.min(S - 1, Math.floor(py[i] * S))]++;
    for (let pass = 0; pass < 5; pass++) {
      const next = new Float32Array(S * S);
      for (let b = 1; b < S - 1; b++) for (let a = 1; a < S - 1; a++) { let sum = 0; for (let v = -1; v < 2; v++) for (let u = -1; u < 2; u++) sum += grid[a + u + (b + v) * S]; next[a + b * S] = sum / 9; }
      grid = next;
    }
    const some = grid.filter((v) => v > 1e-4).sort();
    for (const share of [0.55, 0.78, 0.92]) {
      const level = some[Math.floor(share * some.length)];
      for (let b = 0; b < S - 1; b++) for (let a = 0; a < S - 1; a++) {
        const corners = [[a, b], [a + 1, b], [a + 1, b + 1], [a, b + 1]], cuts = [];
        corners.forEach(([x0, y0], e) => {
          const [x1, y1] = corners[(e + 1) % 4], u = grid[x0 + y0 * S], v = grid[x1 + y1 * S];
          if (u > level !== v > level) { const t = (level - u) / (v - u); cuts.push([(x0 + t * (x1 - x0) + 0.5) / S, (y0 + t * (y1 - y0) + 0.5) / S]); }
        });
        for (let c = 0; c + 1 < cuts.length; c += 2) out.push(...cuts[c], ...cuts[c + 1]);
      }
    }
    return Float32Array.from(out);
  })();
  function drawContours(style) {
    ctx.strokeStyle = style.getPropertyValue("--soft");
    ctx.globalAlpha = 0.45;
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (let s = 0; s < contours.length; s += 4) { ctx.moveTo(left + contours[s] * scale * zoom, above + contours[s + 1] * scale * zoom); ctx.lineTo(left + contours[s + 2] * scale * zoom, above + contours[s + 3] * scale * zoom); }
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  // ---- finding points
  function nearest(cx, cy, within = 10) {
    const reach = within / (scale * zoom), ux = (cx - left) / (scale * zoom), uy = (cy - above) / (scale * zoom);
    let best = -1, least = reach * reach;
    const cell = (v) => clamp(Math.floor(v * G), 0, G - 1);
    for (let b = cell(uy - reach); b <= cell(uy + reach); b++) for (let a = cell(ux - reach); a <= cell(ux + reach); a++) for (let o = starts[a + G * b]; o < starts[a + G * b + 1]; o++) {
      const i = order[o], d = (px[i] - ux) ** 2 + (py[i] - uy) ** 2;
      if (d < least && (!match || match[i])) { least = d; best = i; }
    }
    return best;
  }
  const title = (i) => (texts.ready && (texts.titles[i] || texts.ids[i])) || "document " + (i + 1);
  const topicName = (k) => (k < 0 ? "no topic" : run.names[k]);
  function value(c, i) {
    const v = data.arrays["c" + c][i], { type, values } = data.columns[c];
    return type === "category" ? (v < 0 ? "" : values[v]) : Number.isNaN(v) ? "" : type === "date" ? day(v) : short(v);
  }

  // ---- the side panel
  const hint = () => el("p", { class: "soft", text: "Point at a document for its title, click it for its text. Drag to move; hold Ctrl and turn the wheel, or use + and −, to zoom: finer topics appear. “Lasso” lists the documents you draw around." });
  // the address of what is shown: #topic=3, #doc=ID; a frame without an address keeps none
  function address(text) { try { history.replaceState(null, "", text); } catch { /* shown in a frame */ } }
  function open(i) {
    chosen = i;
    if (texts.ready) address("#doc=" + encodeURIComponent(texts.ids[i]));
    const k = topic[i], words = k < 0 ? [] : data.topics[k].top, rows = [["topic", topicName(k)], ["probability", (prob[i] / 255).toFixed(2)]];
    if (data.arrays.near[i] >= 0 && data.arrays.near[i] !== k) rows.push(["nearest other topic", topicName(data.arrays.near[i])]);
    data.columns.forEach((c, j) => value(j, i) !== "" && rows.push([c.name, value(j, i)]));
    side.replaceChildren(el("h3", { text: title(i), dir: "auto" }), el("p", { class: "soft", text: texts.ready ? texts.ids[i] : "" }),
      el("p", { class: "doc", dir: "auto" }, marked((texts.ready && texts.texts[i]) || "", words)),
      el("table", {}, rows.map(([a, b]) => el("tr", {}, el("th", { scope: "row", text: a }), el("td", { text: b })))),
      el("p", {}, button("Back to the map", () => { chosen = -1; side.replaceChildren(hint()); draw(); })));
    draw();
  }
  const listeners = [];
  function list(heading, rows) {
    const perTopic = new Map();
    for (const i of rows) perTopic.set(topic[i], (perTopic.get(topic[i]) || 0) + 1);
    listeners.forEach((f) => f(perTopic));
    const topics = [...perTopic].sort((a, b) => b[1] - a[1]).slice(0, 8);
    side.replaceChildren(el("h3", { text: `${heading}: ${count(rows.length)} of ${count(n)} documents` }),
      el("div", { class: "bar" }, csvButton("documents", () => [["id", "title", "topic", "name", "probability", ...data.columns.map((c) => c.name)], ...rows.map((i) => [texts.ids?.[i], texts.titles?.[i] || "", topic[i], topicName(topic[i]), (prob[i] / 255).toFixed(3), ...data.columns.map((_, c) => value(c, i))])]), button("Show all", clear, { class: "small" })),
      el("ul", { class: "list" }, topics.map(([k, c]) => el("li", { text: `${topicName(k)}: ${count(c)}` }))),
      el("ol", { class: "list" }, rows.slice(0, 100).map((i) => el("li", {}, button(title(i), () => open(i), { class: "link", dir: "auto" })))),
      ...(rows.length > 100 ? [el("p", { class: "soft", text: `The first 100 are listed; the CSV has all.` })] : []));
  }
  function clear() { listeners.forEach((f) => f(null)); match = null; isolated = null; chosen = -1; side.replaceChildren(hint()); showLegend(); draw(); }
  function select(heading, test) {
    match = new Uint8Array(n);
    const rows = [];
    for (let i = 0; i < n; i++) if (test(i)) { match[i] = 1; rows.push(i); }
    list(heading, rows);
    draw();
    return rows.length;
  }

  // ---- mouse, touch, keys
  const pointers = new Map();
  let moved = 0, pinch = 0;
  const spot = (e) => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    pointers.set(e.pointerId, spot(e));
    moved = 0;
    if (lassoMode || e.shiftKey) lasso = [spot(e)];
  });
  canvas.addEventListener("pointermove", (e) => {
    const here = spot(e), before = pointers.get(e.pointerId);
    if (!before) {
      const i = nearest(...here);
      tip.hidden = i < 0;
      if (i >= 0) { tip.textContent = `${title(i)} · ${topicName(topic[i])}`; tip.style.left = clamp(here[0] + 12, 0, Math.max(0, width - 290)) + "px"; tip.style.top = clamp(here[1] + 14, 0, height - 50) + "px"; }
      return;
    }
    moved += Math.hypot(here[0] - before[0], here[1] - before[1]);
    pointers.set(e.pointerId, here);
    if (lasso) { lasso.push(here); draw(); return; }
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()], apart = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (pinch) zoomTo(apart / pinch, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      pinch = apart;
      return;
    }
    left += here[0] - before[0]; above += here[1] - before[1];
    tip.hidden = true;
    drawMoving();
  });
  function up(e) {
    if (!pointers.delete(e.pointerId)) return;
    pinch = 0;
    if (lasso && moved > 6) {
      const shape = lasso;
      select("Lasso", (i) => inside(SX(i), SY(i), shape));
    } else if (moved < 4) { const i = nearest(...spot(e)); if (i >= 0) open(i); }
    lasso = null;
    draw();
  }
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey && document.activeElement !== canvas) return;
    e.preventDefault();
    zoomTo(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0022)), ...spot(e));
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const step = 60, act = { ArrowLeft: () => (left += step), ArrowRight: () => (left -= step), ArrowUp: () => (above += step), ArrowDown: () => (above -= step), "+": () => zoomTo(1.4), "=": () => zoomTo(1.4), "-": () => zoomTo(1 / 1.4), 0: all, Escape: clear, Enter: () => { const i = nearest(width / 2, height / 2, 1e4); if (i >= 0) open(i); } }[e.key];
    if (act) { e.preventDefault(); act(); drawMoving(); }
  });
  function inside(a, b, shape) {
    let odd = false;
    for (let i = 0, j = shape.length - 1; i < shape.length; j = i++) {
      const [xi, yi] = shape[i], [xj, yj] = shape[j];
      if (yi > b !== yj > b && a < ((xj - xi) * (b - yi)) / (yj - yi) + xi) odd = !odd;
    }
    return odd;
  }

  // ---- the controls above the map
  const choice = el("select", { id: "colour", onchange: (e) => colour(e.target.value) }, el("option", { value: "topic", text: "topic" }), data.columns.map((c) => el("option", { value: "column:" + c.name, text: c.name })), el("option", { value: "prob", text: "probability of the topic" }));
  const fineness = el("select", { onchange: (e) => { layerChoice = e.target.value; draw(); } }, el("option", { value: "auto", text: "by zoom" }), layers.map((l, i) => el("option", { value: i, text: `${count(l.names.length)} topics${i === base ? " (the run's)" : ""}` })), el("option", { value: "none", text: "none" }));
  const lassoButton = button("Lasso", () => { lassoMode = !lassoMode; canvas.classList.toggle("lasso", lassoMode); lassoButton.setAttribute("aria-pressed", lassoMode); }, { "aria-pressed": "false", title: "Draw around documents (also: hold Shift)" });
  const field = el("input", { type: "search", id: "search", size: 22, placeholder: "word or /pattern/", "aria-label": "Search titles and texts" });
  const found = el("span", { class: "soft", "aria-live": "polite" });
  const search = el("form", { class: "bar", role: "search", onsubmit: (e) => { e.preventDefault(); look(); } }, field, button("Search", null, { type: "submit" }), found);
  function look() {
    const typed = field.value.trim();
    if (!typed) { found.textContent = ""; clear(); return; }
    if (!texts.ready) { found.textContent = "The texts are still being read."; return; }
    let pattern;
    try {
      const as = /^\/(.+)\/$/.exec(typed);
      pattern = as ? new RegExp(as[1], "iu") : new RegExp(typed.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu");
    } catch (error) { found.textContent = "This is no pattern: " + error.message; return; }
    const hits = select(`“${typed}”`, (i) => pattern.test(texts.titles[i] || "") || pattern.test(texts.texts[i] || "") || (!texts.titles.length && pattern.test(texts.ids[i])));
    found.textContent = `${count(hits)} of ${count(n)}`;
  }
  const controls = el("div", { class: "bar" }, el("label", {}, "Colour by", choice), layers.length > 1 ? el("label", {}, "Names", fineness) : null, button("+", () => zoomTo(1.5), { "aria-label": "Zoom in" }), button("−", () => zoomTo(1 / 1.5), { "aria-label": "Zoom out" }), button("All", all), lassoButton, button("Contours", (e) => { showContours = !showContours; e.target.setAttribute("aria-pressed", showContours); draw(); }, { "aria-pressed": "true", title: "Lines of equal density" }),
    button("PNG", () => { canvas.toBlob((blob) => { const a = el("a", { href: URL.createObjectURL(blob), download: "map.png" }); a.click(); setTimeout(() => URL.revokeObjectURL(a.href), 1000); }); }, { class: "small", title: "Save the map as it is shown" }));
  side.append(hint());
  const dated = data.columns.findIndex((c) => c.type === "date");
  function brush() {
    const days = data.arrays["c" + dated], real = days.filter((v) => !Number.isNaN(v)), first = real.reduce((a, b) => Math.min(a, b)), last = real.reduce((a, b) => Math.max(a, b));
    const shown = el("output", { "aria-live": "polite" }), ends = [first, last].map((value, e) => el("input", { type: "range", min: first, max: last, step: 1, value, "aria-label": e ? "Last day" : "First day", oninput: apply }));
    function apply() {
      const [from, to] = ends.map((e) => +e.value).sort((a, b) => a - b), label = `${day(from)} to ${day(to)}`;
      shown.textContent = label;
      if (from === first && to === last) clear(); else select(label, (i) => days[i] >= from && days[i] <= to);
    }
    shown.textContent = `${day(first)} to ${day(last)}`;
    return el("div", { class: "bar", role: "group", "aria-label": "Period" }, "Period", ends, shown);
  }
  section("map").append(search, controls, dated < 0 ? "" : brush(), el("div", { class: "map" }, stage, side), legend,
    el("p", { class: "soft", text: `${n < data.total ? `A sample of ${count(n)} of ${count(data.total)} documents, stratified by topic. ` : ""}Near means similar; distances between far groups say little, and axes nothing.` }));
  colour("topic");
  new ResizeObserver(resize).observe(stage);
  matchMedia("(prefers-color-scheme:dark)").addEventListener("change", draw);
  function showTopics(heading, ids) { const wanted = new Set(ids); if (ids.length === 1) address("#topic=" + ids[0]); select(heading, (i) => wanted.has(topic[i])); section("map").scrollIntoView(); }
  function follow() {
    const [, what, value] = /^#(topic|doc)=(.+)$/.exec(location.hash) || [];
    if (!what) return;
    let id = value;
    try { id = decodeURIComponent(value); } catch { /* not escaped: as it is */ }
    const i = what === "doc" ? texts.ids.indexOf(id) : data.topics.findIndex((t) => String(t.topic) === id);
    if (i < 0) { side.replaceChildren(el("p", { role: "alert", text: `${what === "doc" ? "The document" : "The topic"} ${id} of the link is not in this file.` }), hint()); section("map").scrollIntoView(); }
    else if (what === "doc") { open(i); section("map").scrollIntoView(); } else showTopics(run.names[i], [i]);
  }
  addEventListener("hashchange", follow);
  return { showTopics, follow, onSelect: (f) => listeners.push(f) };
}
