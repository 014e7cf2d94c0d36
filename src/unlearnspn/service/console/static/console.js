// A little script: pages work without it.
"use strict";

// A box that chooses all requests of a page, and how many are chosen.
for (const place of document.querySelectorAll("[data-select-all]")) {
  const boxes = [...document.querySelectorAll("input[type=checkbox][form=several]")];
  const count = document.querySelector("[data-count-of=several]");
  const all = document.createElement("input");
  all.type = "checkbox";
  all.setAttribute("aria-label", place.dataset.selectAll);
  const show = () => {
    const n = boxes.filter((box) => box.checked).length;
    all.checked = n > 0 && n === boxes.length;
    all.indeterminate = n > 0 && n < boxes.length;
    if (count) { count.textContent = String(n); count.hidden = n === 0; }
  };
  all.addEventListener("change", () => { for (const box of boxes) box.checked = all.checked; show(); });
  for (const box of boxes) box.addEventListener("change", show);
  if (boxes.length) place.append(all);
  show();
}

// A list of known values shows the field for another one only when that is chosen.
for (const list of document.querySelectorAll("select[data-with-other]")) {
  const other = list.closest(".field").querySelector("input").closest("label");
  const show = () => { other.hidden = list.value !== "other"; };
  list.addEventListener("change", show);
  show();
}

// A form that must not be sent twice by an impatient click.
for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", () => {
    for (const button of form.querySelectorAll("button")) setTimeout(() => { button.disabled = true; });
  });
}
