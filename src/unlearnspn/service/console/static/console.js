// A little script: pages work without it.
"use strict";

// Boxes that choose all requests of a page, and how many are chosen.
const boxes = [...document.querySelectorAll("input[type=checkbox][form=several]")];
const ofAll = [...document.querySelectorAll("[data-select-all]")].filter(() => boxes.length).map((place) => {
  const box = document.createElement("input");
  box.type = "checkbox";
  box.setAttribute("aria-label", place.dataset.selectAll);
  box.addEventListener("change", () => { for (const each of boxes) each.checked = box.checked; showChosen(); });
  place.prepend(box);
  place.hidden = false;
  return box;
});
function showChosen() {
  const n = boxes.filter((box) => box.checked).length;
  for (const box of ofAll) { box.checked = n === boxes.length; box.indeterminate = n > 0 && n < boxes.length; }
  for (const place of document.querySelectorAll("[data-count-of=several]")) { place.textContent = String(n); place.hidden = n === 0; }
}
for (const box of boxes) box.addEventListener("change", showChosen);
if (boxes.length) showChosen();

// A list of known values shows the field for another one only when that is chosen.
for (const list of document.querySelectorAll("select[data-with-other]")) {
  const other = list.closest(".field").querySelector("input").closest("label");
  const show = () => { other.hidden = list.value !== "other"; };
  list.addEventListener("change", show);
  show();
}

// A form that must not be sent twice by an impatient click; it says what is going on meanwhile.
for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", () => {
    for (const place of form.querySelectorAll("[data-waiting]")) place.textContent = place.dataset.waiting;
    for (const button of form.querySelectorAll("button")) setTimeout(() => { button.disabled = true; });
  });
}
