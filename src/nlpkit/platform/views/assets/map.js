// ---- the map: documents as points on a canvas, names of topics in layers, hover, click, lasso, colours.
// Points have shapes where not all eyes tell the colours apart: circle, square, triangle, diamond, triangle, star. Corners around 0, 0.
const SHAPES = [[16, 0, 1, 1], [4, 0.785], [3, -1.571], [4], [3, 1.571], [8, 0, 0.5, 1.5]].map(([n, turn = 0, inner = 1, size = 1.3]) => Array.from({ length: n }, (_, k) => [Math.cos, Math.sin].map((f) => size * (k % 2 ? inner : 1) * f(turn + (k * 6.2832) / n))));
function shapeKey(g) {
  const key = swatch(g.colour);
  key.style.clipPath = `polygon(${SHAPES[g.shape].map((at) => at.map((v) => 50 + 36 * v + "%").join(" "))})`;
  return key;
}
// plane: which places {x, y}, topics {topic, topics, colours, shapes}, part of the selection (key) and section (host); `layers` on the first map
function makeMap(data, selection, plane) {
  const { x, y, topic, topics, colours, shapes } = plane, first = plane.key === "lasso", hidden = (first ? data.review : data.compared).hidden || [];
  // hidden topics are left off, and what another run has not
  const rows = Int32Array.from({ length: data.n }, (_, i) => i).filter((i) => topic[i] > -2 && !hidden.includes(topic[i])), n = rows.length;
  const canvas = el("canvas", { tabindex: 0, role: "application", "aria-label": `Map of ${count(n)} documents${first ? "" : " in " + data.compared.of}. Arrow keys move, plus and minus zoom, 0 shows all, Enter opens the document in the middle, S selects what is in view.` });
  const tip = el("div", { class: "tip", hidden: true });
  const trace = svg("path", {}), stage = el("div", { class: "stage" }, canvas, svg("svg", { class: "trace", "aria-hidden": "true" }, trace), tip);
  const ctx = canvas.getContext("2d");
  const px = Float32Array.from(x, (v) => v / 65535), py = Float32Array.from(y, (v) => v / 65535);
  let width = 0, height = 0, scale = 1, zoom = 1, left = 0, above = 0;
  let lasso = null, lassoMode = false, queued = false, layerChoice = "auto", showContours = true;

  // a grid over the points: those of cell c are order[starts[c]] …
  const G = 96, cellOf = (i) => min(G - 1, floor(px[i] * G)) + G * min(G - 1, floor(py[i] * G));
  const starts = new Int32Array(G * G + 1), order = new Int32Array(n);
  for (const i of rows) starts[cellOf(i) + 1]++;
  for (let c = 0; c < G * G; c++) starts[c + 1] += starts[c];
  const at = starts.slice();
  for (const i of rows) order[at[cellOf(i)]++] = i;

  // names stand where most documents of their topic are
  function densest(of, K) {
    const H = 24, counts = new Map(), places = [];
    for (const i of rows) if (of[i] >= 0) {
      const key = of[i] * H * H + min(H - 1, floor(px[i] * H)) + H * min(H - 1, floor(py[i] * H));
      counts.set(key, (counts.get(key) || 0) + 1);
    }
    const best = new Array(K).fill(null);
    for (const [key, c] of counts) { const k = floor(key / (H * H)); if (!best[k] || c > best[k][1] || (c === best[k][1] && key < best[k][0])) best[k] = [key, c]; }
    const sums = best.map(() => [0, 0, 0]);
    for (const i of rows) {
      const k = of[i];
      if (k < 0 || !best[k]) continue;
      const cell = best[k][0] % (H * H), cx = cell % H, cy = floor(cell / H);
      if (abs(px[i] * H - cx - 0.5) <= 1.5 && abs(py[i] * H - cy - 0.5) <= 1.5) { sums[k][0] += px[i]; sums[k][1] += py[i]; sums[k][2]++; }
    }
    for (let k = 0; k < K; k++) places.push(sums[k][2] ? [sums[k][0] / sums[k][2], sums[k][1] / sums[k][2]] : null);
    return places;
  }
  const run = { names: topics.map((t) => t.label), sizes: topics.map((t) => t.size), of: topic }, given = first ? data.layers : [];
  let base = given.findIndex((rows) => rows.some((r) => r.chosen));
  const layers = base < 0 ? [run] : given.map((rows, l) => (l === base ? run : { names: rows.map((r) => r.label), sizes: rows.map((r) => r.size), of: data.arrays["layer_" + l] }));
  base = max(base, 0);
  for (const layer of layers) layer.places = densest(layer.of, layer.names.length);

  // ---- colours: groups of points that are drawn together; each is a part of the selection: [part, value]
  let groups = [], ranked = true, coloured = true, legend = el("ul", { class: "legend" });
  function group(keyOf, names, colourOf, partOf, shapeOf) {
    const buckets = names.map(() => []);
    for (const i of rows) buckets[keyOf(i)].push(i);
    groups = names.map((name, g) => ({ name, colour: colourOf(g), shape: shapeOf?.(g) || 0, part: partOf(g), rows: Int32Array.from(buckets[g]) }));
  }
  function colour(by) {
    const c = +by, column = data.columns[c], K = topics.length;
    coloured = by === "topic";
    ranked = coloured || column?.type === "category";
    if (by === "topic") group((i) => (topic[i] < 0 ? K : topic[i]), [...run.names, "no topic"], (g) => colours[g] || NONE, (g) => ["topic", g === K ? "-1" : String(topics[g].topic)], (g) => shapes[g]);
    else if (ranked) {
      const { values, name } = column, codes = data.arrays["c" + c];
      group((i) => (codes[i] < 0 ? values.length : codes[i]), [...values, "no value"], (g) => (g === values.length ? NONE : PALETTE[g % PALETTE.length]), (g) => ["by." + name, values[g] ?? ""], (g) => floor(g / PALETTE.length) % 6);
    } else {
      const { names, of } = selection.steps(c);
      group(of, names, (g) => (g === names.length - 1 ? NONE : onScale(g / (names.length - 2))), (g) => ["step." + (column ? column.name : ""), String(g)]);
    }
    showLegend();
    draw();
  }
  function showLegend() {
    if (!first) return;
    const shown = groups.filter((g) => g.rows.length), at = legend.contains(document.activeElement) && [...legend.querySelectorAll("button")].indexOf(document.activeElement);
    if (ranked) shown.sort((a, b) => b.rows.length - a.rows.length);
    legend.replaceChildren(...shown.slice(0, 40).map((g) => el("li", {}, button([shapeKey(g), `${g.name} (${count(g.rows.length)})`], () => selection.toggle(...g.part), { "aria-pressed": String(selection.is(...g.part)) }))));
    if (at !== false) legend.querySelectorAll("button")[at]?.focus();
  }

  // ---- drawing
  const SX = (i) => left + px[i] * scale * zoom, SY = (i) => above + py[i] * scale * zoom;
  function resize() {
    const box = stage.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!box.width) return;
    width = box.width; height = box.height;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    scale = min(width, height) * 0.94;
    all();
  }
  // All but the farthest hundredth of the documents on each side; a lone group far off would make the rest small.
  const spread = [px, py].map((p) => { const sorted = Float32Array.from(rows, (i) => p[i]).sort(); return [sorted[floor(n / 100)] ?? 0, sorted[ceil((n - 1) * 0.99)] ?? 1]; });
  let fit = 1;
  function all() {
    const room = [width, height].map((size, a) => (size - 60) / (scale * max(spread[a][1] - spread[a][0], 0.02)));
    zoom = fit = clamp(min(...room), 0.5, 8);
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
    stride = ceil(n / 25000);
    clearTimeout(rest);
    if (stride > 1) rest = setTimeout(() => { stride = 1; draw(); }, 140);
    draw();
  }
  function radius() {
    const plain = n > 30000 ? 0.9 : n > 8000 ? 1.2 : n > 1500 ? 1.8 : 2.8;
    return min(plain * Math.pow(max(zoom / fit, 0.2), 0.45), 6);
  }
  function paint() {
    queued = false;
    const style = getComputedStyle(document.documentElement), ink = (name) => style.getPropertyValue(name), r = radius(), match = selection.match(), chosen = selection.chosen(), faint = ink("--line");
    ctx.clearRect(0, 0, width, height);
    if (showContours) drawContours(ink);
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
        if (round) SHAPES[g.shape].forEach(([a, b], k) => ctx[k ? "lineTo" : "moveTo"](sx + r * a, sy + r * b)); else ctx.fillRect(sx - r, sy - r, 2 * r, 2 * r);
      }
      if (round) ctx.fill();
    }
    ctx.globalAlpha = 1;
    names(ink);
    if (chosen >= 0 && topic[chosen] > -2) { ctx.strokeStyle = ink("--fg"); ctx.lineWidth = 2; ctx.beginPath(); ctx.arc(SX(chosen), SY(chosen), r + 4, 0, 6.2832); ctx.stroke(); }
  }
  // Names of the layer that fits the zoom, largest topics first: none over another, beside the points, with a line to the topic.
  function names(ink) {
    const l = layerChoice === "auto" ? clamp(base + floor(Math.log2(zoom / fit) / 1.2 + 0.01), 0, layers.length - 1) : +layerChoice;
    if (layerChoice === "none") return;
    const layer = layers[l], placed = [], biggest = max(...layer.sizes), C = 8, W = ceil(width / C) + 2, H = ceil(height / C) + 2;
    // how many cells up and to the left of a corner hold points
    const full = new Int32Array(W * H);
    for (let o = 0; o < n; o += stride) { const i = rows[o], a = floor(SX(i) / C) + 1, b = floor(SY(i) / C) + 1; if (a > 0 && b > 0 && a < W && b < H) full[a + b * W] = 1; }
    for (let b = 1; b < H; b++) for (let a = 1; a < W; a++) full[a + b * W] += full[a - 1 + b * W] + full[a + (b - 1) * W] - full[a - 1 + (b - 1) * W];
    const cell = (v, most) => clamp(floor(v / C), 0, most - 1);
    const covered = (x, y, half, tall) => { const a = cell(x - half, W), b = cell(y - tall, H), c = cell(x + half + C, W), d = cell(y + tall + C, H); return full[c + d * W] - full[a + d * W] - full[c + b * W] + full[a + b * W]; };
    // whether a line from a topic to its name passes another name
    const along = (x0, y0, x1, y1) => { let sum = 0; for (let s = 6; s < 12; s++) sum += covered(x0 + (s / 12) * (x1 - x0), y0 + (s / 12) * (y1 - y0), 0, 0) > 0; return sum; };
    const crosses = (x0, y0, x1, y1, box) => { for (let s = 0; s < 10; s++) if (abs(x0 + (s / 10) * (x1 - x0) - box.x) < box.half && abs(y0 + (s / 10) * (y1 - y0) - box.y) < box.tall) return true; return false; };
    ctx.lineJoin = "round";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    for (const k of layer.names.map((_, i) => i).sort((a, b) => layer.sizes[b] - layer.sizes[a] || a - b)) {
      const place = layer.places[k];
      if (!place || placed.length >= (width * height) / 16000) continue;
      const size = (width < 500 ? [9.5, 2.5] : [11, 5]).reduce((a, b) => a + b * sqrt(layer.sizes[k] / biggest)), cx = left + place[0] * scale * zoom, cy = above + place[1] * scale * zoom;
      if (cx < 0 || cy < 0 || cx > width || cy > height) continue;
      ctx.font = `600 ${size}px system-ui, sans-serif`;
      const half = ctx.measureText(layer.names[k]).width / 2 + 4, tall = size * 0.72;
      if (2 * half > width) continue;
      let free = null, least = Infinity;
      for (const away of [0, 12, 24, 40, 60, 85, 115, 150, 190, 240]) for (let turn = 0; turn < (away ? 16 : 1); turn++) {
        const angle = (turn * Math.PI) / 8, ax = clamp(cx + (away ? (half + away) * Math.cos(angle) : 0), half, width - half), ay = cy + (away ? (tall + away) * Math.sin(angle) : 0);
        if (ay < tall || ay > height - tall || placed.some((p) => abs(ax - p.x) < half + p.half && abs(ay - p.y) < tall + p.tall)) continue;
        const crossed = placed.filter((p) => crosses(cx, cy, ax, ay, p) || crosses(p.cx, p.cy, p.x, p.y, { x: ax, y: ay, half, tall })).length;
        const cost = 3 * covered(ax, ay, half, tall) + away / 6 + 20 * crossed + (away ? 2 * along(cx, cy, ax, ay) : 0);
        if (cost < least) { least = cost; free = [ax, ay]; }
      }
      if (free) placed.push({ k, x: free[0], y: free[1], half, tall, size, cx, cy });
    }
    // in the colour of the topic, where points have it; the text nearer to the colour of text, so that it can be read
    const tint = (p, share) => { ctx.strokeStyle = ctx.fillStyle = ink("--fg"); if (layer === run && coloured) ctx.strokeStyle = ctx.fillStyle = `color-mix(in srgb, ${colours[p.k]} ${share}%, ${ink("--fg")})`; };
    ctx.lineWidth = 1.3;
    for (const p of placed) {
      const ex = clamp(p.cx, p.x - p.half, p.x + p.half), ey = clamp(p.cy, p.y - p.tall, p.y + p.tall);
      if (Math.hypot(ex - p.cx, ey - p.cy) > 6) { tint(p, 80); ctx.beginPath(); ctx.moveTo(ex, ey); ctx.lineTo(p.cx, p.cy); ctx.stroke(); }
    }
    for (const p of placed) {
      ctx.font = `600 ${p.size}px system-ui, sans-serif`;
      ctx.lineWidth = 4;
      ctx.strokeStyle = ink("--panel");
      ctx.strokeText(layer.names[p.k], p.x, p.y);
      tint(p, 55);
      ctx.fillText(layer.names[p.k], p.x, p.y);
    }
  }

  // ---- contours: lines of equal density, as segments in the unit square
  const contours = (() => {
    const S = 128, out = [];
    let grid = new Float32Array(S * S);
    for (const i of rows) grid[min(S - 1, floor(px[i] * S)) + S * min(S - 1, floor(py[i] * S))]++;
    for (let pass = 0; pass < 5; pass++) {
      const next = new Float32Array(S * S);
      for (let b = 1; b < S - 1; b++) for (let a = 1; a < S - 1; a++) { let sum = 0; for (let v = -1; v < 2; v++) for (let u = -1; u < 2; u++) sum += grid[a + u + (b + v) * S]; next[a + b * S] = sum / 9; }
      grid = next;
    }
    const some = grid.filter((v) => v > 1e-4).sort();
    for (const share of [0.55, 0.78, 0.92]) {
      const level = some[floor(share * some.length)];
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
  function drawContours(ink) {
    ctx.strokeStyle = ink("--soft");
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
    let best = -1, least = reach * reach, match = selection.match();
    const cell = (v) => clamp(floor(v * G), 0, G - 1);
    for (let b = cell(uy - reach); b <= cell(uy + reach); b++) for (let a = cell(ux - reach); a <= cell(ux + reach); a++) for (let o = starts[a + G * b]; o < starts[a + G * b + 1]; o++) {
      const i = order[o], d = (px[i] - ux) ** 2 + (py[i] - uy) ** 2;
      if (d < least && (!match || match[i])) { least = d; best = i; }
    }
    return best;
  }
  // ---- the lasso: a line around documents, in hundred-thousandths of the plane, as the address holds it
  const STEP = 1e5, inUnits = ([a, b]) => [(a - left) / (scale * zoom), (b - above) / (scale * zoom)].map((v) => Math.round(v * STEP).toString(36)).join("_");
  selection.kinds[plane.key] = (text) => {
    const shape = text.split(".").map((pair) => pair.split("_").map((v) => parseInt(v, 36) / STEP)), [xs, ys] = [0, 1].map((a) => shape.map((p) => p[a])), [x0, x1, y0, y1] = [min(...xs), max(...xs), min(...ys), max(...ys)], drawn = new Uint8Array(data.n);
    if (!(shape.length > 2 && x1 > x0 && y1 > y0)) throw new Error("The lasso of the link is no shape.");
    for (const i of rows) if (px[i] >= x0 && px[i] <= x1 && py[i] >= y0 && py[i] <= y1 && inside(px[i], py[i], shape)) drawn[i] = 1;
    return [first ? "Lasso" : `Lasso in ${data.compared.of}`, (i) => drawn[i]];
  };
  const surround = (line) => { const every = ceil(line.length / 64); selection.set(plane.key, line.filter((_, i) => i % every === 0).map(inUnits).join(".")); };
  const inView = () => surround([[0, 0], [width, 0], [width, height], [0, height]]);
  function inside(a, b, shape) {
    let odd = false;
    for (let i = 0, j = shape.length - 1; i < shape.length; j = i++) {
      const [xi, yi] = shape[i], [xj, yj] = shape[j];
      if (yi > b !== yj > b && a < ((xj - xi) * (b - yi)) / (yj - yi) + xi) odd = !odd;
    }
    return odd;
  }

  // ---- mouse, touch, keys
  const pointers = new Map();
  let moved = 0, pinch = null, several = false;
  const on = (name, act, how) => canvas.addEventListener(name, act, how), spot = (e) => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
  const reach = (e) => (e.pointerType === "touch" ? 22 : 10);
  function showTip(i, [a, b]) {
    tip.hidden = i < 0;
    if (i >= 0) { tip.textContent = `${selection.title(i)} · ${topic[i] < 0 ? "no topic" : run.names[topic[i]]}`; tip.style.left = clamp(a + 12, 0, max(0, width - 290)) + "px"; tip.style.top = clamp(b + 14, 0, height - 50) + "px"; }
  }
  on("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    if (!pointers.size) { moved = 0; several = false; }
    pointers.set(e.pointerId, spot(e));
    if (pointers.size > 1) { several = true; pinch = lasso = null; trace.setAttribute("d", ""); } else if (lassoMode || e.shiftKey) lasso = [spot(e)];
  });
  on("pointermove", (e) => {
    const here = spot(e), before = pointers.get(e.pointerId);
    if (!before) return showTip(nearest(...here), here);
    moved += Math.hypot(here[0] - before[0], here[1] - before[1]);
    pointers.set(e.pointerId, here);
    tip.hidden = true;
    if (lasso) { lasso.push(here); return trace.setAttribute("d", "M" + lasso.join("L")); }
    if (several) {
      // two fingers: their distance zooms, their middle moves
      if (pointers.size !== 2) return;
      const [a, b] = [...pointers.values()], now = { apart: Math.hypot(a[0] - b[0], a[1] - b[1]) || 1, at: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2] };
      if (pinch) { left += now.at[0] - pinch.at[0]; above += now.at[1] - pinch.at[1]; zoomTo(now.apart / pinch.apart, ...now.at); }
      pinch = now;
      return;
    }
    left += here[0] - before[0]; above += here[1] - before[1];
    drawMoving();
  });
  function up(e) {
    if (!pointers.delete(e.pointerId)) return;
    pinch = null;
    const line = lasso, tap = !several && moved < (e.pointerType === "touch" ? 10 : 4);
    lasso = null;
    trace.setAttribute("d", "");
    if (e.type === "pointercancel") return;
    if (tap) { const i = nearest(...spot(e), reach(e)); showTip(i, spot(e)); if (i >= 0) selection.open(i); } else if (line) surround(line);
  }
  on("pointerup", up);
  on("pointercancel", up);
  on("pointerleave", (e) => { if (e.pointerType !== "touch") tip.hidden = true; });
  on("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey && document.activeElement !== canvas) return;
    e.preventDefault();
    zoomTo(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0022)), ...spot(e));
  }, { passive: false });
  on("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = 60, act = { ArrowLeft: () => (left += step), ArrowRight: () => (left -= step), ArrowUp: () => (above += step), ArrowDown: () => (above -= step), "+": () => zoomTo(1.4), "=": () => zoomTo(1.4), "-": () => zoomTo(1 / 1.4), 0: all, s: inView, Enter: () => { const i = nearest(width / 2, height / 2, 1e4); if (i >= 0) selection.open(i); } }[e.key];
    if (act) { e.preventDefault(); act(); drawMoving(); }
  });

  // ---- the controls above the map
  const select = (attributes, options) => el("select", attributes, options.map(([value, text]) => el("option", { value, text })));
  const lassoButton = toggle("Lasso", false, (on) => canvas.classList.toggle("lasso", (lassoMode = on)), { title: "Draw around documents (also: hold Shift)" });
  const controls = bar(first ? el("label", {}, "Colour by", select({ id: "colour", onchange: (e) => colour(e.target.value) }, [["topic", "topic"], ...data.columns.map((c, i) => [i, c.name]), [-1, "probability of the topic"]])) : null,
    layers.length > 1 ? el("label", {}, "Names", select({ onchange: (e) => { layerChoice = e.target.value; draw(); } }, [["auto", "by zoom"], ...layers.map((l, i) => [i, `${count(l.names.length)} topics${i === base ? " (the run's)" : ""}`]), ["none", "none"]])) : null,
    button("+", () => zoomTo(1.5), { "aria-label": "Zoom in" }), button("−", () => zoomTo(1 / 1.5), { "aria-label": "Zoom out" }), button("All", all), lassoButton, button("Select view", inView, { title: "Select the documents in view (S)" }), toggle("Contours", true, (on) => { showContours = on; draw(); }, { title: "Lines of equal density" }),
    button("PNG", () => canvas.toBlob((blob) => save("map.png", blob, "image/png")), { class: "small", title: "Save the map as it is shown" }));
  plane.host.append(controls, first ? el("div", { class: "map" }, stage, selection.side) : stage, legend,
    soft(`${first && n < data.total ? `${data.n < data.total ? `A sample of ${count(data.n)} of ${count(data.total)} documents, stratified by topic. ` : ""}${n < data.n ? `${count(data.n - n)} documents of hidden topics are not drawn. ` : ""}` : ""}Near means similar; distances between far groups say little, and axes nothing.`));
  colour("topic");
  selection.onChange(() => { showLegend(); draw(); });
  new ResizeObserver(resize).observe(stage);
  matchMedia("(prefers-color-scheme:dark)").addEventListener("change", draw);
}
