// Settings, metrics and filters of the whole page; sorting; the paper's number at the pointer, seeds at a click.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const state = { setting: document.body.dataset.setting, metric: "acc_online", m: new Set(), d: new Set() };
const listeners = []; // called after every change of the state: charts.js draws again

function changed() {
  const rules = [
    `main [data-setting]:not([data-setting="${state.setting}"]){display:none}`,
    `#tables [data-metric]:not([data-metric="${state.metric}"]){display:none}`,
  ];
  for (const kind of ["m", "d"])
    for (const number of state[kind]) rules.push(`main [data-${kind}="${number}"]{display:none!important}`);
  document.getElementById("hidden").textContent = rules.join("\n");
  for (const button of all("[data-metric-button]"))
    button.setAttribute("aria-pressed", button.dataset.metricButton === state.metric);
  for (const listener of listeners) listener();
}

// Methods and streams
function hide(box) {
  state[box.dataset.filter][box.checked ? "delete" : "add"](Number(box.value));
}
for (const box of all("input[data-filter]")) {
  box.checked = true; // a browser may keep the boxes over a reload
  box.addEventListener("change", () => (hide(box), changed()));
}
for (const button of all("[data-all], [data-none]"))
  button.addEventListener("click", () => {
    for (const box of all(`input[data-filter="${button.dataset.all || button.dataset.none}"]`)) {
      box.checked = Boolean(button.dataset.all);
      hide(box);
    }
    changed();
  });
for (const button of all("[data-metric-button]"))
  button.addEventListener("click", () => ((state.metric = button.dataset.metricButton), changed()));
const settings = document.getElementById("setting");
if (settings) {
  settings.value = state.setting;
  settings.addEventListener("change", () => ((state.setting = settings.value), changed()));
}

// Claims
for (const part of all(".claims")) {
  const buttons = all("[data-verdict]", part), selects = all("[data-claims]", part);
  const filter = () => {
    const verdicts = buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.verdict);
    const [stream, place, reading] = selects.map((select) => select.value);
    let shown = 0;
    for (const row of all("tbody tr", part)) {
      const { w, on, p, r } = row.dataset;
      const wanted = (!stream || on === stream) && (!place || p === place) && (!reading || r === reading);
      row.hidden = !(verdicts.includes(w) && wanted);
      shown += !row.hidden;
    }
    all("[data-shown]", part)[0].textContent = `${shown} shown`;
  };
  for (const button of buttons)
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
      filter();
    });
  for (const select of selects) {
    select.value = "";
    select.addEventListener("change", filter);
  }
  filter();
}

// Cells: the tip follows the pointer or the focus, a click opens the seeds.
const tip = document.getElementById("tip"), detail = document.getElementById("detail");
function showTip(target) {
  const cell = target.closest?.("[data-tip]");
  tip.hidden = !cell;
  if (!cell) return;
  tip.textContent = cell.dataset.tip;
  const box = cell.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${box.top > tip.offsetHeight + 50 ? box.top - tip.offsetHeight - 4 : box.bottom + 4}px`;
}
for (const event of ["pointerover", "focusin"]) document.addEventListener(event, (e) => showTip(e.target));
document.addEventListener("scroll", () => (tip.hidden = true), { passive: true });

function element(name, text, ...children) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...children);
  return made;
}
function table(heads, rows) {
  const made = element("table", "", element("thead", "", element("tr", "", ...heads.map((h) => element("th", h)))));
  made.append(element("tbody", "", ...rows.map((row) => element("tr", "", ...row.map((cell) => element("td", cell))))));
  return made;
}
document.addEventListener("click", (event) => {
  const cell = event.target.closest("[data-cell]");
  if (!cell) return;
  const { title, metric, runs } = data.tables.seeds[cell.dataset.cell];
  detail.replaceChildren(element("p", title), table(["Seed", metric, "Run"], runs));
  detail.showPopover();
});

// All runs: made when they are asked for
document.getElementById("runs").addEventListener("toggle", (event) => {
  const place = event.target.querySelector(".wide"), columns = data.provenance.runs;
  if (place.childElementCount) return;
  const rows = columns[0].codes.map((_, i) => columns.map((column) => column.values[column.codes[i]]));
  place.append(table(columns.map((column) => column.heading), rows));
});

// Sorting
const value = (row, column) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
function compare(a, b) {
  const x = Number(a), y = Number(b);
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}
function sort(head) {
  const body = head.closest("table").tBodies[0], column = head.cellIndex, was = head.getAttribute("aria-sort");
  const rows = [...body.rows];
  // Numbers start with the highest, words with A.
  const numeric = column > 0 && rows.some((row) => row.cells[column].dataset.v);
  const way = was ? (was === "ascending" ? "descending" : "ascending") : numeric ? "descending" : "ascending";
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", way);
  const sign = way === "ascending" ? 1 : -1;
  rows.sort((a, b) => {
    const x = value(a, column), y = value(b, column);
    if (x === "" || y === "") return (x === "") - (y === ""); // gaps last, either way
    return sign * compare(x, y);
  });
  body.append(...rows);
}
for (const button of all(".sortable thead button"))
  button.addEventListener("click", () => sort(button.closest("th")));

changed();
