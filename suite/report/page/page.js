"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const placements = JSON.parse(document.getElementById("placements").textContent);
const at = (id) => document.getElementById(id);
const make = (tag, more = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), more);
  element.append(...children);
  return element;
};
const digits = (value, count = 4) => (value == null ? "" : String(Number(value.toPrecision(count))));
const records = data.records.map((row, number) => ({
  number,
  ...Object.fromEntries(data.columns.map((name, i) => [name, row[i]])),
}));
const known = new Map(data.placers.map((placer, i) => [placer.name, { ...placer, order: i }]));
const state = { view: 0, row: 0, axis: "evaluations", hidden: new Set() };
const link = (record) => data.root + record.path;
const shown = () => data.views[state.view].rows[state.row];
const here = () => shown().records.map((number) => records[number]);
const on = (record) => !state.hidden.has(record.placer);

// What the plots show, as rows of their data sets.

function whose(record) {
  const { placer, seed, grid, number } = record;
  return { placer, seed, grid, number, label: known.get(placer).label, link: link(record) };
}

function stepRows() {
  const row = shown();
  const printed = new Map(row.published.map((one) => [one.placer, one]));
  const valid = here().filter((record) => on(record) && record.status === "ok");
  const median = new Map();
  for (const record of valid) {
    median.set(record.placer, [...(median.get(record.placer) ?? []), record.step_time]);
  }
  for (const [placer, values] of median) {
    values.sort((a, b) => a - b);
    const half = (values.length - 1) / 2;
    median.set(placer, (values[Math.floor(half)] + values[Math.ceil(half)]) / 2);
  }
  const order = (placer) => median.get(placer) ?? Infinity;
  const beside = (placer, value) => {
    const theirs = printed.get(placer);
    return {
      order: Math.min(order(placer), 1e9),
      printed: theirs?.printed ?? "not given",
      ratio: theirs?.value ? digits(value / theirs.value) : "",
      bound_ratio: row.bound ? digits(value / row.bound) : "",
    };
  };
  const ours = valid.map((record) => ({
    ...whose(record), ...beside(record.placer, record.step_time),
    kind: "ours", value: record.step_time, text: digits(record.step_time, 5),
  }));
  const there = new Set(here().filter(on).map((record) => record.placer));
  const theirs = row.published.filter((one) => one.value && there.has(one.placer)).map((one) => ({
    ...beside(one.placer, order(one.placer)), ratio: digits(order(one.placer) / one.value),
    kind: "published", placer: one.placer, label: known.get(one.placer).label, value: one.value,
  }));
  theirs.filter((one) => one.order === 1e9).forEach((one) => { one.ratio = "no valid run"; });
  return [...ours, ...theirs];
}

function boundLevel() {
  const { bound } = shown();
  return bound ? [{ what: "proven lower bound", value: bound, text: digits(bound) }] : [];
}

function searchLevels() {
  const fastest = Math.min(...here()
    .filter((record) => record.placer === "human_expert" && record.status === "ok")
    .map((record) => record.step_time));
  const expert = [{ what: "human expert", value: fastest, text: digits(fastest) }];
  const printed = shown().published.find((one) => one.value && known.get(one.placer).searches);
  return [
    ...boundLevel(),
    ...(Number.isFinite(fastest) ? expert : []),
    ...(printed ? [{ what: `${known.get(printed.placer).label}, published`, value: printed.value, text: printed.printed }] : []),
  ];
}

function searchRows() {
  return here().filter((record) => on(record) && data.histories[record.number])
    .flatMap((record) => {
      const [evaluations, seconds, best] = data.histories[record.number];
      const end = state.axis === "seconds" ? record.wall_seconds : record.evaluations;
      const points = best.map((value, i) => ({
        ...whose(record), value, evaluations: evaluations[i], seconds: digits(seconds[i]),
        x: state.axis === "seconds" ? seconds[i] : evaluations[i],
      }));
      const last = points.at(-1);
      return end > last.x ? [...points, { ...last, x: end }] : points;
    }).filter((point) => point.x > 0 && point.value != null);
}

function qualityRows() {
  const { bound } = shown();
  const valid = here().filter((record) => on(record) && record.status === "ok" && bound);
  return valid.map((record) => ({
    ...whose(record), wall: Math.max(record.wall_seconds, 0.001), text: digits(record.step_time, 5),
    bound_ratio: record.step_time / bound,
  }));
}

// "a20b3k": shares in tenths from a to k, each with how often it is repeated.
const decode = (text) => [...text.matchAll(/([a-k])(\d*)/g)]
  .flatMap(([, level, count]) => Array(Number(count || 1)).fill((level.charCodeAt(0) - 97) / 10));

function strips(drawing, lines, width, unit) {
  return lines.flatMap((line, i) => decode(line).map((share, k) => ({
    device: drawing.devices[i], share, from: k * width, to: (k + 1) * width,
    span: `${digits(k * width, 3)} to ${digits((k + 1) * width, 3)}${unit}`,
  })));
}

function layerRows(drawing) {
  return drawing.layers.flatMap(([layer, devices], order) => devices
    .map((number, step) => ({ layer, step, order: -order, device: drawing.devices[number] }))
    .filter((cell) => cell.device));
}

// Plots: made once, then given new rows.

const dark = matchMedia("(prefers-color-scheme: dark)");
const colours = () => (dark.matches ? { text: "#c9d1dc", line: "#39424f" } : { text: "#3a4552", line: "#dfe3e9" });
const plots = new Map();

async function plot(name, sets, change = (spec) => spec) {
  const place = at(name);
  const key = JSON.stringify([dark.matches, change.toString()]);
  let view = plots.get(name);
  if (!view || view.key !== key) {
    view?.made.finalize();
    const { text, line } = colours();
    const axis = { labelColor: text, titleColor: text, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12 };
    const config = { background: null, font: "system-ui, sans-serif", axis, legend: { labelColor: text, titleColor: text }, view: { stroke: null } };
    const spec = { ...change(structuredClone(data.charts[name])), config, datasets: sets };
    const made = (await vegaEmbed(place, spec, { renderer: "svg", actions: false, logLevel: 1, loader: { target: "_blank", rel: "noopener" }, tooltip: { disableDefaultStyle: true } })).view;
    view = { made, key };
    plots.set(name, view);
  }
  for (const [set, rows] of Object.entries(sets)) view.made.data(set, rows);
  await view.made.resize().runAsync();
  reachable(place);
}

const bySeconds = (spec) => {
  spec.layer[0].encoding.x.title = "seconds of search";
  return spec;
};
const same = (spec) => spec;

async function draw() {
  const searches = searchRows();
  at("search-empty").hidden = searches.length > 0;
  at("search").hidden = searches.length === 0;
  const lost = new Map();
  for (const record of here().filter((one) => on(one) && one.status !== "ok")) {
    const label = `${known.get(record.placer).label} (${record.status})`;
    lost.set(label, (lost.get(label) ?? 0) + 1);
  }
  const words = [...lost].map(([label, count]) => (count > 1 ? `${count} of ${label}` : label));
  at("steps-lost").textContent = words.length ? `Without a point: ${words.join(", ")}.` : "";
  await plot("steps", { rows: stepRows(), levels: boundLevel() });
  if (searches.length) {
    await plot("search", { rows: searches, levels: searchLevels() }, state.axis === "seconds" ? bySeconds : same);
  }
  await plot("quality", { rows: qualityRows() });
}

async function drawPlacement() {
  const number = at("placement").value;
  const drawing = placements[number];
  const facts = at("placement-facts");
  facts.textContent = "";
  for (const name of ["map", "layers", "busy"]) at(name).hidden = !drawing;
  at("map-box").hidden = !drawing?.map;
  at("layers-box").hidden = !drawing?.layers;
  if (!drawing) {
    facts.textContent = "No placement of this row is in the page.";
    return;
  }
  const record = records[number];
  const parts = [
    record.status === "ok" ? "" : `${record.status}; ignoring that, `,
    record.step_time == null ? "" : `${digits(record.step_time)} s a step, `,
    record.lower_bound ? `${digits(record.step_time / record.lower_bound, 3)} times the lower bound, ` : "",
    `grid ${record.grid}, seed ${record.seed}: `,
  ];
  facts.append(parts.join(""), make("a", { href: link(record) }, "its record"));
  await plot("busy", { rows: strips(drawing, drawing.busy, drawing.bin, " s") });
  if (drawing.map) await plot("map", { rows: strips(drawing, drawing.map, 1, " %") });
  if (drawing.layers) await plot("layers", { rows: layerRows(drawing) });
}

// Controls.

function fill(select, names) {
  select.replaceChildren(...names.map(([value, text]) => make("option", { value }, text)));
}

function swatch({ colour, shape }) {
  const paths = {
    circle: "M2 7a5 5 0 1 0 10 0a5 5 0 1 0-10 0", square: "M2 2h10v10H2z", "triangle-up": "M7 2l6 10H1z",
    "triangle-down": "M7 12L1 2h12z", diamond: "M7 1l6 6-6 6-6-6z", cross: "M5 1h4v4h4v4H9v4H5V9H1V5h4z",
  };
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [name, value] of [["width", 14], ["height", 14], ["aria-hidden", "true"]]) svg.setAttribute(name, value);
  path.setAttribute("d", paths[shape]);
  path.setAttribute("fill", colour);
  svg.append(path);
  return svg;
}

function showPlacers() {
  const there = new Set(here().map((record) => record.placer));
  const lists = { true: [], false: [] };
  for (const placer of data.placers.filter((one) => there.has(one.name))) {
    const box = make("input", { type: "checkbox", checked: !state.hidden.has(placer.name), value: placer.name });
    lists[placer.searches].push(make("label", {}, box, swatch(placer), placer.label));
  }
  at("searching").replaceChildren(...lists.true);
  at("constructive").replaceChildren(...lists.false);
  count();
}

function count() {
  const there = new Set(here().map((record) => record.placer));
  const off = [...there].filter((placer) => state.hidden.has(placer)).length;
  at("placers-count").textContent = `${there.size - off} of ${there.size} on`;
}

function showPlacements() {
  const mine = here().filter((record) => placements[record.number]);
  mine.sort((a, b) => (a.status !== "ok") - (b.status !== "ok") || a.step_time - b.step_time);
  fill(at("placement"), mine.map((record) => [record.number,
    `${known.get(record.placer).label}: ${record.status === "ok" ? `${digits(record.step_time)} s` : record.status} (${record.grid})`]));
}

async function showRow() {
  showPlacers();
  showPlacements();
  await draw();
  await drawPlacement();
}

async function showView() {
  fill(at("row"), data.views[state.view].rows.map((row, i) => [i, row.label]));
  state.row = 0;
  await showRow();
}

at("view").addEventListener("change", (event) => { state.view = Number(event.target.value); showView(); });
at("row").addEventListener("change", (event) => { state.row = Number(event.target.value); showRow(); });
at("axis").addEventListener("change", (event) => { state.axis = event.target.value; draw(); });
at("placement").addEventListener("change", drawPlacement);
at("placers-box").addEventListener("change", ({ target }) => {
  if (target.checked) state.hidden.delete(target.value);
  else state.hidden.add(target.value);
  count();
  draw();
});
for (const [id, off] of [["all", false], ["none", true]]) {
  at(id).addEventListener("click", () => {
    for (const record of here()) {
      if (off) state.hidden.add(record.placer);
      else state.hidden.delete(record.placer);
    }
    showPlacers();
    draw();
  });
}
dark.addEventListener("change", () => { draw(); drawPlacement(); });

// Tables: a head sorts, a line of input filters, and cells explain themselves.

const STEP = 100;

function sortable(table, rows) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const input = make("input", { type: "search", placeholder: "words in a row" });
  const tally = make("span", { className: "count" });
  tally.setAttribute("aria-live", "polite");
  const more = make("button", { type: "button" }, "Show more");
  const name = table.getAttribute("aria-labelledby");
  input.setAttribute("aria-describedby", name);
  table.parentElement.before(make("div", { className: "filter" }, make("label", {}, "Filter", input), tally, more));
  let order = rows;
  let most = Math.max(STEP, 0);
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = order.filter((row) => words.every((word) => row.text.includes(word)));
    const part = found.slice(0, most);
    body.replaceChildren(...part.map((row) => (row.element ??= row.make())));
    tally.textContent = `${part.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    more.hidden = part.length === found.length;
  };
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    order = [...rows].sort((a, b) => compare(a.keys[column], b.keys[column], down));
    show();
  }));
  input.addEventListener("input", () => { most = STEP; show(); });
  more.addEventListener("click", () => { most += 5 * STEP; show(); });
  show();
}

// Cells without a number, such as OOM, stay below the numbers whichever way these are sorted.
function compare(a, b, down) {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  return down ? -order : order;
}

function staticRows(table) {
  return [...table.tBodies[0].rows].map((element) => ({
    element,
    text: element.textContent.toLowerCase(),
    keys: [...element.cells].map((cell) => {
      if (cell.textContent.length > 60 && !cell.dataset.value) cell.classList.add("long");
      return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
    }),
  }));
}

function recordRow(record) {
  const cells = data.columns.slice(0, -1).map((name, i) => {
    const text = typeof record[name] === "number" && i > 7 ? digits(record[name]) : String(record[name] ?? "");
    return make(i ? "td" : "th", {}, text);
  });
  cells[0].scope = "row";
  return make("tr", {}, ...cells, make("td", {}, make("a", { href: link(record) }, `seed${record.seed}.json`)));
}

function showRecords() {
  const heads = data.columns.map((name) => {
    const head = make("th", { scope: "col" }, make("button", { type: "button" }, name.replaceAll("_", " ")));
    head.setAttribute("aria-sort", "none");
    return head;
  });
  at("records").tHead.replaceChildren(make("tr", {}, ...heads));
  sortable(at("records"), records.map((record) => ({
    keys: data.columns.map((name) => record[name] ?? ""),
    text: data.columns.map((name) => record[name]).join(" ").toLowerCase(),
    make: () => recordRow(record),
  })));
}

const tip = at("tip");

function explain(cell) {
  tip.hidden = !cell;
  if (!cell) return;
  tip.textContent = cell.dataset.details;
  const box = cell.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const above = box.top - size.height - 6;
  tip.style.left = `${Math.max(6, Math.min(box.left, innerWidth - size.width - 6))}px`;
  tip.style.top = `${above > 0 ? above : box.bottom + 6}px`;
}

const cellOf = (event) => event.target.closest?.("td[data-details]");
// A mark that was clicked shows what the mouse shows already.
const markOf = (event) => event.target.closest?.(".chart path[data-details]:focus-visible");
for (const [kind, what] of [["mouseover", cellOf], ["focusin", (event) => cellOf(event) ?? markOf(event)], ["click", cellOf], ["focusout", () => null]]) {
  document.addEventListener(kind, (event) => explain(what(event)));
}
document.addEventListener("scroll", () => {
  // Moving by keyboard scrolls, and what is explained moves along.
  const focused = document.activeElement;
  explain(!tip.hidden && focused.matches("[data-details]:focus-visible") ? focused : null);
  at("vg-tooltip-element")?.classList.remove("visible");
}, true);

// One cell of a table, and one mark of a plot, takes part in the order of Tab; the arrow keys move on
// from there.
const MOVES = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
const MARKS = ".mark-symbol path[aria-label], .mark-rect path[aria-label]";

function reachable(place) {
  for (const anchor of place.querySelectorAll("a")) anchor.tabIndex = -1;
  place.querySelectorAll(MARKS).forEach((mark, i) => {
    mark.tabIndex = i ? -1 : 0;
    const parts = mark.getAttribute("aria-label").split("; ");
    mark.dataset.details = parts.filter((part) => !/^(label|link): /.test(part)).join("\n");
  });
}

function cellBeside(cell, [down, right]) {
  const row = cell.parentElement;
  const rows = [...row.parentElement.rows];
  return rows[rows.indexOf(row) + down]?.cells[cell.cellIndex + right];
}

function markBeside(mark, [down, right]) {
  const marks = [...mark.closest(".chart").querySelectorAll(MARKS)];
  const own = marks.indexOf(mark);
  const middle = (one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  };
  const [x, y] = middle(mark);
  let nearest = null;
  let least = Infinity;
  marks.forEach((other, i) => {
    const [otherX, otherY] = middle(other);
    const [dx, dy] = [otherX - x, otherY - y];
    const along = dx * right + dy * down;
    const across = Math.abs(dx * down) + Math.abs(dy * right);
    // Marks that cover each other are gone through in their order.
    const covered = Math.hypot(dx, dy) < 0.5;
    if (covered ? Math.sign(i - own) !== down + right : along < 0.5) return;
    // Down and up go to the next line whatever is there, right and left stay in theirs if they can.
    const far = down ? 1000 * Math.round(along / 5) + across : along + 1000 * Math.round(across / 5);
    const distance = covered ? Math.abs(i - own) / marks.length : far + 1;
    if (distance < least) [nearest, least] = [other, distance];
  });
  return nearest;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") explain(null);
  const cell = event.target.closest?.("tbody td, tbody th");
  const mark = event.target.closest?.(".chart path");
  if (mark && event.key === "Enter") mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const move = MOVES[event.key];
  if (!move || !(cell || mark)) return;
  const next = mark ? markBeside(mark, move) : cellBeside(cell, move);
  if (!next) return;
  event.preventDefault();
  (mark ?? cell).tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

function openTarget() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const folded = target?.closest?.("details.report");
  if (!folded || folded.open) return;
  folded.open = true;
  target.scrollIntoView();
}

for (const table of document.querySelectorAll("article table.sortable, details.report table.sortable")) {
  const rows = staticRows(table);
  sortable(table, rows);
  const first = table.querySelector("td[data-details]") ?? table.querySelector("tbody th");
  if (first) first.tabIndex = 0;
}
showRecords();
addEventListener("hashchange", openTarget);
openTarget();
fill(at("view"), data.views.map((view, i) => [i, view.title]));
if (data.views.length) showView().then(() => { document.documentElement.dataset.ready = "yes"; });
else document.documentElement.dataset.ready = "yes";
