// Draws one graph: a force layout, pan and zoom, a legend that hides types, a search, and a panel for what was clicked.
// Everything it needs is in this file and in the JSON beside it; nothing is fetched.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("drawing").textContent);
  const byId = (id) => document.getElementById(id);
  const svg = byId("canvas"), world = byId("world");
  const NS = "http://www.w3.org/2000/svg";
  const PALETTE = ["#4678c8", "#d9822b", "#3a9d6e", "#c7556f", "#8a63c9", "#2a9fb0", "#a6862a", "#d06fb0", "#6b8e3d", "#7d6b5d", "#5566d6", "#b5543c"];
  const STATUS = { added: "var(--added)", changed: "var(--changed)", removed: "var(--removed)", context: "var(--context)" };

  const make = (name, attributes = {}, text) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const html = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);

  // ── what is drawn ──────────────────────────────────────────────────────────────────────────────────────────────────────
  const nodes = data.nodes.map((n, i) => ({ ...n, index: i, degree: 0, vx: 0, vy: 0 }));
  const at = new Map(nodes.map((n) => [n.key, n]));
  const edges = data.edges.map((e) => ({ ...e, a: at.get(e.source), b: at.get(e.target) }));
  for (const e of edges) { e.a.degree++; e.b.degree++; }
  const isDiff = data.kind === "diff";
  // Of many nodes only the best connected show their names; the others when somebody points at them.
  const many = nodes.length > 120;
  document.body.classList.toggle("many", many);
  const hubs = new Set([...nodes].sort((x, y) => y.degree - x.degree).slice(0, 24));
  const groups = (list) => {
    const counts = new Map();
    for (const item of list) { const k = isDiff ? item.status : item.type; counts.set(k, (counts.get(k) || 0) + 1); }
    return [...counts].sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1));
  };
  const nodeGroups = groups(nodes), edgeGroups = groups(edges);
  const colours = new Map(nodeGroups.map(([name], i) => [name, isDiff ? STATUS[name] : PALETTE[i % PALETTE.length]]));
  const colourOf = (item) => colours.get(isDiff ? item.status : item.type);

  // Edges between the same two nodes are bent apart.
  const lanes = new Map();
  for (const e of edges) {
    const key = [e.source, e.target].sort().join("\u0000");
    if (!lanes.has(key)) lanes.set(key, []);
    lanes.get(key).push(e);
  }
  for (const lane of lanes.values()) lane.forEach((e, i) => {
    const side = lane.length === 1 ? 0 : i - (lane.length - 1) / 2;
    e.bend = side * 34 * (e.source < e.target ? 1 : -1);
    e.loop = i;
  });

  // ── shapes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
  const crowded = edges.length > (data.kind === "schema" ? 60 : 18);
  for (const e of edges) {
    e.g = make("g", { class: `edge ${crowded ? "quiet" : ""} ${e.status || ""}`, tabindex: "-1" });
    if (isDiff) e.g.style.setProperty("--colour", STATUS[e.status]);
    e.path = make("path"); e.hit = make("path", { class: "hit" }); e.tip = make("polygon");
    e.text = make("text", {}, cut(e.label, 40));
    e.g.append(e.path, e.hit, e.tip, e.text);
    e.g.addEventListener("click", (event) => { event.stopPropagation(); select(e); });
    byId("edges").append(e.g);
  }
  for (const n of nodes) {
    n.g = make("g", { class: `node ${n.lines ? "card" : ""} ${hubs.has(n) ? "hub" : ""} ${n.status || ""}`, tabindex: "0", role: "button", "aria-label": `${n.type} ${n.label}` });
    n.g.dataset.key = n.key;
    n.g.style.setProperty("--colour", colourOf(n));
    if (n.lines) {
      const longest = Math.max(n.label.length * 1.15, ...n.lines.map(([name, type]) => name.length + type.length + 3));
      n.w = Math.max(110, longest * 6.2 + 20); n.h = 26 + n.lines.length * 16 + (n.lines.length ? 6 : 0); n.span = n.w;
      const x = -n.w / 2, y = -n.h / 2;
      n.g.append(make("rect", { class: "shape", x, y, width: n.w, height: n.h, rx: 8 }));
      n.g.append(make("path", { class: "head", d: `M${x} ${y + 24}v-16a8 8 0 0 1 8 -8h${n.w - 16}a8 8 0 0 1 8 8v16z`, fill: colourOf(n) }));
      n.g.append(make("text", { class: "title", x: x + 10, y: y + 17 }, n.label));
      n.lines.forEach(([name, type], i) => {
        n.g.append(make("text", { x: x + 10, y: y + 41 + i * 16 }, name));
        n.g.append(make("text", { class: "type", x: x + n.w - 10, y: y + 41 + i * 16 }, type));
      });
    } else {
      n.r = Math.min(18, 7 + Math.sqrt(n.degree) * 1.6); n.w = n.h = n.r * 2; n.span = many ? n.w + 6 : Math.max(n.w, Math.min(n.label.length, 28) * 6.2);
      n.g.append(make("circle", { class: "shape", r: n.r }));
      n.g.append(make("text", { class: "name", y: n.r + 13 }, cut(n.label, 28)));
    }
    n.g.addEventListener("click", (event) => { event.stopPropagation(); if (!moved) select(n); });
    n.g.addEventListener("keydown", (event) => { if (event.key === "Enter") select(n); });
    n.g.addEventListener("pointerdown", (event) => grab(event, n));
    byId("nodes").append(n.g);
  }

  // ── layout ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
  // Every node pushes every other one away, edges pull like springs, everything is drawn to the middle, and shapes that overlap
  // are moved apart. It starts from a spiral, so that the same graph always looks the same.
  const cards = nodes.some((n) => n.lines);
  const gap = cards ? 170 : 60;
  const wide = Math.max(1, Math.min(1.8, innerWidth / Math.max(1, innerHeight)));
  nodes.forEach((n, i) => { const r = gap * Math.sqrt(i + 0.5), t = i * 2.399963; n.x = r * Math.cos(t); n.y = r * Math.sin(t); });
  let heat = 1;
  const tick = () => {
    const push = (cards ? 42000 : 9000) * heat, pull = 0.07 * heat;
    for (let i = 0; i < nodes.length; i++) {
      const a = nodes[i];
      for (let j = i + 1; j < nodes.length; j++) {
        const b = nodes[j];
        let dx = b.x - a.x, dy = b.y - a.y;
        if (!dx && !dy) { dx = (i - j) * 0.01; dy = 0.01; }
        const d2 = dx * dx + dy * dy + 60;
        if (d2 > 640000) continue;
        const f = push / d2, d = Math.sqrt(d2);
        a.vx -= (f * dx) / d; a.vy -= (f * dy) / d; b.vx += (f * dx) / d; b.vy += (f * dy) / d;
      }
      a.vx -= (a.x * 0.02 * heat) / wide; a.vy -= a.y * 0.02 * heat * wide;
    }
    for (const e of edges) {
      if (e.a === e.b) continue;
      const dx = e.b.x - e.a.x, dy = e.b.y - e.a.y, d = Math.sqrt(dx * dx + dy * dy) || 1;
      const rest = cards ? 120 + (e.a.w + e.b.w + e.a.h + e.b.h) / 4 : 110 + e.a.r + e.b.r;
      const f = (pull * (d - rest)) / d / Math.sqrt(Math.min(e.a.degree, e.b.degree));
      e.a.vx += f * dx; e.a.vy += f * dy; e.b.vx -= f * dx; e.b.vy -= f * dy;
    }
    for (const n of nodes) {
      if (!n.held) { n.x += Math.max(-40, Math.min(40, n.vx)); n.y += Math.max(-40, Math.min(40, n.vy)); }
      n.vx *= 0.55; n.vy *= 0.55;
    }
    for (let i = 0; i < nodes.length; i++) for (let j = i + 1; j < nodes.length; j++) {
      const a = nodes[i], b = nodes[j], dx = b.x - a.x, dy = b.y - a.y;
      const ox = (a.span + b.span) / 2 + (cards ? 56 : 10) - Math.abs(dx), oy = (a.h + b.h) / 2 + (cards ? 40 : many ? 8 : 26) - Math.abs(dy);
      if (ox <= 0 || oy <= 0) continue;
      if (ox < oy) { const s = (ox / 2) * (dx < 0 ? -1 : 1); if (!a.held) a.x -= s; if (!b.held) b.x += s; }
      else { const s = (oy / 2) * (dy < 0 ? -1 : 1); if (!a.held) a.y -= s; if (!b.held) b.y += s; }
    }
    heat *= 0.985;
  };

  // Where a line from inside a shape leaves it.
  const border = (n, tx, ty) => {
    const dx = tx - n.x, dy = ty - n.y, d = Math.sqrt(dx * dx + dy * dy) || 1;
    if (!n.lines) return [n.x + (dx / d) * (n.r + 2), n.y + (dy / d) * (n.r + 2)];
    const s = Math.min(dx ? (n.w / 2 + 2) / Math.abs(dx) : Infinity, dy ? (n.h / 2 + 2) / Math.abs(dy) : Infinity);
    return [n.x + dx * s, n.y + dy * s];
  };
  const place = () => {
    for (const n of nodes) n.g.setAttribute("transform", `translate(${n.x.toFixed(1)} ${n.y.toFixed(1)})`);
    for (const e of edges) {
      let d, tx, ty, fromX, fromY, labelX, labelY;
      if (e.a === e.b) {
        const x = e.a.x + e.a.w / 2, y = e.a.y - e.a.h / 2, s = 30 + e.loop * 16;
        d = `M${x - 4} ${y}C${x} ${y - s} ${x + s} ${y} ${x + 1} ${y + 6}`;
        [tx, ty, fromX, fromY, labelX, labelY] = [x + 1, y + 6, x + s, y - 2, x + s * 0.55, y - s * 0.5];
      } else {
        const mx = (e.a.x + e.b.x) / 2, my = (e.a.y + e.b.y) / 2, dx = e.b.x - e.a.x, dy = e.b.y - e.a.y, l = Math.sqrt(dx * dx + dy * dy) || 1;
        const cx = mx - (dy / l) * e.bend, cy = my + (dx / l) * e.bend;
        const [sx, sy] = border(e.a, cx, cy); [tx, ty] = border(e.b, cx, cy);
        d = `M${sx.toFixed(1)} ${sy.toFixed(1)}Q${cx.toFixed(1)} ${cy.toFixed(1)} ${tx.toFixed(1)} ${ty.toFixed(1)}`;
        [fromX, fromY, labelX, labelY] = [cx, cy, (sx + 2 * cx + tx) / 4, (sy + 2 * cy + ty) / 4 - 4];
      }
      e.path.setAttribute("d", d); e.hit.setAttribute("d", d);
      const angle = Math.atan2(ty - fromY, tx - fromX), tip = (turn, length) => `${(tx - length * Math.cos(angle + turn)).toFixed(1)},${(ty - length * Math.sin(angle + turn)).toFixed(1)}`;
      e.tip.setAttribute("points", `${tx.toFixed(1)},${ty.toFixed(1)} ${tip(0.42, 9)} ${tip(-0.42, 9)}`);
      e.text.setAttribute("x", labelX.toFixed(1)); e.text.setAttribute("y", labelY.toFixed(1));
    }
  };

  // ── pan and zoom ───────────────────────────────────────────────────────────────────────────────────────────────────────
  let scale = 1, panX = 0, panY = 0, moved = false, touched = false;
  const apply = () => world.setAttribute("transform", `translate(${panX} ${panY}) scale(${scale})`);
  const fit = () => {
    const shown = nodes.filter((n) => !n.gone);
    if (!shown.length) return;
    const box = svg.getBoundingClientRect();
    const left = Math.min(...shown.map((n) => n.x - n.w / 2)) - 30, right = Math.max(...shown.map((n) => n.x + n.w / 2)) + 30;
    const top = Math.min(...shown.map((n) => n.y - n.h / 2)) - 30, bottom = Math.max(...shown.map((n) => n.y + n.h / 2)) + 40;
    const legend = byId("legend").getBoundingClientRect().width + 24;
    const width = Math.max(200, box.width - legend);
    scale = Math.min(1.3, width / (right - left), box.height / (bottom - top));
    panX = legend + (width - scale * (left + right)) / 2; panY = (box.height - scale * (top + bottom)) / 2;
    apply();
  };
  const zoom = (factor, x, y) => {
    const next = Math.max(0.05, Math.min(6, scale * factor));
    panX = x - ((x - panX) * next) / scale; panY = y - ((y - panY) * next) / scale; scale = next; touched = true;
    apply();
  };
  const middle = () => { const b = svg.getBoundingClientRect(); return [b.width / 2, b.height / 2]; };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  let drag = null;
  const grab = (event, node) => {
    event.stopPropagation();
    drag = { node, x: event.clientX, y: event.clientY }; moved = false;
    svg.setPointerCapture(event.pointerId);
  };
  svg.addEventListener("pointerdown", (event) => grab(event, null));
  svg.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 3) moved = true;
    if (!moved) return;
    drag.x = event.clientX; drag.y = event.clientY; touched = true;
    if (drag.node) { drag.node.held = true; drag.node.x += dx / scale; drag.node.y += dy / scale; place(); }
    else { panX += dx; panY += dy; svg.classList.add("dragging"); apply(); }
  });
  svg.addEventListener("pointerup", (event) => {
    const hit = drag && drag.node;
    drag = null; svg.classList.remove("dragging");
    if (moved) return;
    if (hit) select(hit);
    else { const edge = edges.find((e) => e.hit === document.elementFromPoint(event.clientX, event.clientY)); select(edge || null); }
  });
  byId("in").onclick = () => zoom(1.3, ...middle());
  byId("out").onclick = () => zoom(1 / 1.3, ...middle());
  byId("fit").onclick = () => fit();

  // ── what was clicked ───────────────────────────────────────────────────────────────────────────────────────────────────
  const panel = byId("panel");
  const table = (detail) => {
    const rows = detail.map((row) => {
      const cells = row.length === 3
        ? [html("td", {}, html("div", { class: "before" }, row[1]), html("div", { class: "after" }, row[2]))]
        : [html("td", {}, row[1])];
      return html("tr", {}, html("th", {}, row[0]), ...cells);
    });
    return html("table", {}, html("tbody", {}, ...rows));
  };
  const select = (item) => {
    for (const x of [...nodes, ...edges]) x.g.classList.remove("selected", "near");
    panel.hidden = !item;
    if (!item) return refresh();
    item.g.classList.add("selected");
    const close = html("button", { class: "close", "aria-label": "Close" }, "✕");
    close.onclick = () => select(null);
    const kind = item.status && item.status !== "context" ? `${item.type} · ${item.status}` : item.type;
    panel.replaceChildren(close, html("h2", {}, item.label), html("p", { class: "kind" }, kind));
    if (item.detail.length) panel.append(table(item.detail));
    const links = item.a
      ? [["from", item.a], ["to", item.b]].map(([word, n]) => [`${word} ${n.label}`, n])
      : edges.filter((e) => e.a === item || e.b === item).slice(0, 60).map((e) => {
          e.g.classList.add("near");
          return e.a === item ? [`${e.label} → ${e.b.label}`, e.b] : [`← ${e.label} ${e.a.label}`, e.a];
        });
    if (links.length) {
      const list = html("ul", {});
      for (const [text, n] of links) { const b = html("button", {}, text); b.onclick = () => select(n); list.append(html("li", {}, b)); }
      panel.append(html("h3", {}, item.a ? "ends" : `edges (${item.degree})`), list);
    }
    refresh();
  };

  // ── legend and search ──────────────────────────────────────────────────────────────────────────────────────────────────
  const hidden = new Set();
  const chip = (name, count, kind, colour) => {
    const key = `${kind}:${name}`;
    const button = html("button", { "aria-pressed": "true", "data-key": key, title: "Show or hide" },
      html("i", { class: kind === "edge" ? "edge" : "", style: `--colour:${colour}` }), name, html("span", {}, data.kind === "schema" ? "" : String(count)));
    button.onclick = () => {
      const off = !hidden.delete(key);
      if (off) hidden.add(key);
      button.setAttribute("aria-pressed", String(!off));
      refresh();
    };
    byId("legend").append(button);
  };
  for (const [name, count] of nodeGroups) chip(name, count, "node", colours.get(name));
  if (data.kind === "answer") for (const [name, count] of edgeGroups) chip(name, count, "edge", "var(--edge)");
  if (isDiff) for (const [name, count] of edgeGroups) chip(name, count, "edge", STATUS[name]);
  const group = (item) => (isDiff ? item.status : item.type);
  const texts = new Map(nodes.map((n) => [n, [n.type, n.label, ...n.detail.flat()].join(" ").toLowerCase()]));
  const search = byId("search");
  const refresh = () => {
    const wanted = search.value.trim().toLowerCase();
    for (const n of nodes) {
      n.gone = hidden.has(`node:${group(n)}`);
      n.g.classList.toggle("gone", n.gone);
      n.g.classList.toggle("dim", Boolean(wanted) && !texts.get(n).includes(wanted));
    }
    for (const e of edges) {
      e.g.classList.toggle("gone", hidden.has(`edge:${group(e)}`) || e.a.gone || e.b.gone);
      e.g.classList.toggle("dim", Boolean(wanted));
    }
    document.body.dataset.found = wanted ? nodes.filter((n) => !n.gone && texts.get(n).includes(wanted)).length : "";
  };
  search.addEventListener("input", refresh);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      const found = nodes.find((n) => !n.gone && texts.get(n).includes(search.value.trim().toLowerCase()));
      if (found) { const [mx, my] = middle(); panX = mx - found.x * scale; panY = my - found.y * scale; apply(); select(found); }
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape") { search.value = ""; select(null); search.blur(); }
  });
  byId("theme").onclick = () => {
    const dark = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.documentElement.dataset.theme = dark === "dark" ? "light" : "dark";
  };

  // ── begin ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
  byId("title").textContent = data.title;
  byId("subtitle").textContent = data.subtitle;
  byId("notes").textContent = data.notes.join(" ");
  refresh();
  const quick = 160;
  for (let i = 0; i < quick; i++) tick();
  place(); fit();
  const settle = () => {
    if (heat < 0.02) { document.body.dataset.settled = "true"; return; }
    for (let i = 0; i < (many ? 8 : 3); i++) tick();
    place();
    if (!touched) fit();
    requestAnimationFrame(settle);
  };
  requestAnimationFrame(settle);
  addEventListener("resize", () => { if (!touched) fit(); });
})();
