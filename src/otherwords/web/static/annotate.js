// Keys for those who judge hundreds of pages: digits choose, Enter saves, u undoes, s skips. All works without it, too.
"use strict";

const typing = (element) => element.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");

function questions() {
  return [...document.querySelectorAll("#item fieldset.question")];
}

function choose(digit) {
  const all = questions();
  const own = document.activeElement.closest("fieldset.question");
  const open = all.find((one) => !one.querySelector("input:checked")) || own || all[all.length - 1];
  const found = open && open.querySelectorAll("input[type=radio]")[digit - 1];
  if (!found) return;
  found.checked = true;
  const asked = [...document.querySelectorAll("#item fieldset.question, #item input[type=number]")];
  const next = asked.find((one) => (one.matches("input") ? !one.value : !one.querySelector("input:checked")));
  (next ? next.querySelector("input") || next : document.getElementById("save")).focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (/^[1-9]$/.test(event.key)) choose(Number(event.key));
  else if (event.key === "u" && document.getElementById("undo")) document.getElementById("undo").click();
  else if (event.key === "s" && document.getElementById("skip")) {
    document.querySelector("details.skip").open = true;
    document.getElementById("reason").focus();
  } else return;
  event.preventDefault();
});

for (const hint of document.querySelectorAll(".keys")) hint.hidden = questions().length === 0;
for (const field of document.querySelectorAll(".copy")) {
  field.addEventListener("focus", () => field.select());
}
