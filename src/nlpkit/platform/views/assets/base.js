// ---- elements, numbers, files
const { abs, ceil, floor, max, min, sqrt } = Math;
const $ = (selector, root = document) => root.querySelector(selector);
const SVG = "http://www.w3.org/2000/svg";
function fill(node, attributes, kids) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...kids.flat(Infinity).filter((k) => k != null && k !== false));
  return node;
}
const el = (tag, attributes, ...kids) => fill(document.createElement(tag), attributes, kids);
const svg = (tag, attributes, ...kids) => fill(document.createElementNS(SVG, tag), attributes, kids);
const count = (n) => Math.round(n).toLocaleString("en");
const percent = (x) => (100 * x).toFixed(x && x < 0.0995 ? 1 : 0) + " %";
const clamp = (x, low, high) => min(max(x, low), high);
const day = (days) => new Date(days * 864e5).toISOString().slice(0, 10);
const button = (text, onclick, attributes) => el("button", { type: "button", onclick, ...attributes }, text);
const bar = (...kids) => el("div", { class: "bar" }, kids);
const soft = (text) => el("p", { class: "soft", text });
const hover = (text) => svg("title", { text });
// an empty chart, announced by its title; most: not wider than this
const drawing = (width, height, title, most, role = "img") => { const out = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role, "aria-label": title }); if (most) out.style.maxWidth = most + "px"; return out; };
// what makes a part of a picture a button; tables that are wider than their box are reached by keyboard, too
const pressable = (act) => ({ tabindex: 0, role: "button", onclick: act, onkeydown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); act(); } } });
const reachable = () => document.querySelectorAll(".wide").forEach((wide) => (wide.tabIndex = wide.scrollWidth > wide.clientWidth ? 0 : -1));
const toggle = (text, on, act, attributes) => button(text, (e) => { on = !on; e.currentTarget.setAttribute("aria-pressed", on); act(on); }, { "aria-pressed": String(on), ...attributes });
const swatch = (colour) => { const key = el("span", { class: "key" }); key.style.background = colour; return key; };
const colourKey = (lines) => el("ul", { class: "legend" }, lines.map((l) => el("li", {}, swatch(l.colour), l.name)));

// ---- data: a container in base64, compressed (see report/page.py)
async function unpack(id) {
  const node = document.getElementById(id), text = node.textContent;
  node.remove();
  let raw;
  if (Uint8Array.fromBase64) raw = Uint8Array.fromBase64(text);
  else {
    const binary = atob(text);
    raw = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) raw[i] = binary.charCodeAt(i);
  }
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const kinds = { u1: Uint8Array, u2: Uint16Array, i2: Int16Array, i4: Int32Array, f4: Float32Array };
  for (const [name, [kind, at, n]] of Object.entries(head.arrays)) head.arrays[name] = new kinds[kind](buffer, 4 + length + at, n);
  return head;
}

// ---- files: a table as CSV, a picture as SVG. A cell that a spreadsheet would run as a formula gets an apostrophe.
function save(name, text, type) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function csvText(rows) {
  const cell = (value) => {
    let text = value == null ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
const csvButton = (name, rows, label = "CSV") => button(label, () => save(name + ".csv", "\ufeff" + csvText(rows()), "text/csv"), { class: "small", title: "Save this as CSV" });
function svgButton(name, picture) {
  return button("SVG", () => {
    const copy = picture().cloneNode(true);
    copy.setAttribute("xmlns", SVG);
    const all = [picture(), ...picture().querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
      const style = getComputedStyle(all[i]);
      for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family", "text-anchor", "opacity"]) node.setAttribute(name, style.getPropertyValue(name));
    });
    save(name + ".svg", new XMLSerializer().serializeToString(copy), "image/svg+xml");
  }, { class: "small", title: "Save this picture as SVG" });
}
const section = (id) => document.getElementById(id);

// ---- colours: topic_palette(48) of colours.py, the first seven told apart by colour-blind eyes; a name beside each says what it is
const PALETTE = "#0072b2#d55e00#009e73#cc79a7#b58900#56b4e9#8a6bd1#f000f0#a81878#606000#78c000#7800f0#f00060#0048f0#906060#c00000#f09060#f078f0#6090a8#a800c0#0090f0#d830a8#784890#48c0a8#007860#a890f0#00a800#c060f0#a8a878#007800#c04860#904800#306078#789000#787848#f06060#a848a8#6048c0#f090a8#9048f0#c018f0#6060f0#c0a800#f01800#a87860#a8a8d8#9078a8#a86000".match(/#.{6}/g);
const NONE = "#9a9a9a";
// cividis
const SCALE = ["#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838"];
function onScale(x) {
  const at = clamp(x, 0, 1) * (SCALE.length - 1), i = min(floor(at), SCALE.length - 2), part = at - i;
  const rgb = (text) => [1, 3, 5].map((p) => parseInt(text.slice(p, p + 2), 16));
  const a = rgb(SCALE[i]), b = rgb(SCALE[i + 1]);
  return `rgb(${a.map((v, c) => Math.round(v + part * (b[c] - v))).join(",")})`;
}
