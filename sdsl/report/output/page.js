// Sorts a table by a click on a heading; hides methods and datasets on the whole page; filters verdicts.
"use strict";

const hidden = { m: new Set(), d: new Set() }; // numbers of methods and of datasets
const shownVerdict = {}; // by setting; "" shows all

function restyle() {
  const rules = [];
  for (const [kind, numbers] of Object.entries(hidden))
    for (const number of numbers) rules.push(`main [data-${kind}="${number}"]{display:none!important}`);
  for (const [setting, only] of Object.entries(shownVerdict))
    if (only !== "") rules.push(`#claims-${setting} tbody tr:not([data-w="${only}"]){display:none}`);
  document.getElementById("hidden").textContent = rules.join("\n");
}

for (const box of document.querySelectorAll("input[data-filter]")) {
  box.checked = true; // a browser may keep the boxes over a reload
  box.addEventListener("change", () => {
    hidden[box.dataset.filter][box.checked ? "delete" : "add"](box.value);
    restyle();
  });
}

for (const button of document.querySelectorAll("[data-all], [data-none]"))
  button.addEventListener("click", () => {
    const kind = button.dataset.all || button.dataset.none;
    for (const box of document.querySelectorAll(`input[data-filter="${kind}"]`)) {
      box.checked = Boolean(button.dataset.all);
      hidden[kind][box.checked ? "delete" : "add"](box.value);
    }
    restyle();
  });

function show(setting, only) {
  shownVerdict[setting] = only;
  document.querySelector(`select[data-verdicts="${setting}"]`).value = only;
  restyle();
}
for (const select of document.querySelectorAll("select[data-verdicts]")) {
  select.value = "";
  select.addEventListener("change", () => show(select.dataset.verdicts, select.value));
}
for (const tile of document.querySelectorAll(".tile"))
  tile.addEventListener("click", () => show(tile.dataset.setting, tile.dataset.verdict));

const value = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.v ?? cell.textContent.trim();
};

function compare(a, b) {
  const x = Number(a), y = Number(b);
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}

function sort(head) {
  const table = head.closest("table"), body = table.tBodies[0];
  const column = head.cellIndex;
  const was = head.getAttribute("aria-sort");
  // Numbers start with the highest, words with A.
  const rows = [...body.rows];
  const numeric = rows.some((row) => row.cells[column].dataset.v) && column > 0;
  const way = was ? (was === "ascending" ? "descending" : "ascending") : numeric ? "descending" : "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", way);
  const sign = way === "ascending" ? 1 : -1;
  rows.sort((a, b) => {
    const x = value(a, column), y = value(b, column);
    if (x === "" || y === "") return (x === "") - (y === ""); // gaps last, either way
    return sign * compare(x, y);
  });
  body.append(...rows);
}
for (const button of document.querySelectorAll(".sortable thead button"))
  button.addEventListener("click", () => sort(button.closest("th")));

if (matchMedia("(max-width: 40rem)").matches) document.getElementById("filter").open = false;
