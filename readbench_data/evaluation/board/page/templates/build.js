"use strict";
const data = JSON.parse(document.getElementById("per-query").textContent);
const dialog = document.getElementById("queries");

function refilter() {
  const on = (name) => new Set([...document.querySelectorAll(`input[name=${name}]:checked`)].map((i) => i.value));
  const families = on("family"), supervisions = on("supervision");
  for (const row of document.querySelectorAll("tr[data-family]")) {
    row.hidden = !(families.has(row.dataset.family) && supervisions.has(row.dataset.supervision));
  }
}
for (const input of document.querySelectorAll("fieldset input")) input.addEventListener("change", refilter);

function cell(row, text, left) {
  const td = row.insertCell();
  td.textContent = text;
  if (left) td.className = "left";
}

function show(method, dataset, rho) {
  const queries = data.queries[dataset], values = data.values[method]?.[dataset]?.[rho];
  if (!values) return;
  dialog.querySelector("h2").textContent = `${method} on ${dataset} at ${rho} %: NDCG@10 of every query`;
  const body = dialog.querySelector("tbody");
  body.replaceChildren();
  const order = values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
  for (const i of order) {
    const row = body.insertRow();
    cell(row, queries.id[i], true);
    cell(row, queries.class_label[i], true);
    cell(row, queries.n_relevant[rho][i]);
    cell(row, (values[i] / 1000).toFixed(3));
  }
  dialog.showModal();
}
for (const button of document.querySelectorAll("td.heat button")) {
  button.addEventListener("click", () => show(button.dataset.method, button.dataset.dataset, button.dataset.rho));
}
