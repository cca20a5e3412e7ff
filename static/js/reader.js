// Line numbers of a JSON document: a click copies the pointer, and of many numbers one is a stop of the Tab key, from
// which the arrow keys go on.
const lines = (of) => [...of.querySelectorAll(".json-lines button")];

function stops() {
  for (const block of document.querySelectorAll(".json-lines:not([data-stops])")) {
    block.dataset.stops = "";
    for (const number of lines(block).slice(1)) number.tabIndex = -1;
  }
}

function move(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const here = step && event.target.closest?.(".json-lines button");
  if (!here) return;
  const all = lines(here.closest(".json-lines"));
  const next = all[all.indexOf(here) + step];
  if (!next) return;
  event.preventDefault();
  here.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

export function startReader() {
  stops();
  document.addEventListener("htmx:afterSettle", stops);
  document.addEventListener("keydown", move);
}
