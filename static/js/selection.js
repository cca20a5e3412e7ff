// The list's row boxes: a header box with a mixed state, Shift+click ranges, and the bar that counts the selection.
const boxes = () => [...document.querySelectorAll('input[name="session"][type="checkbox"]')];

function refresh() {
  const all = boxes();
  const ticked = all.filter((box) => box.checked).length;
  const head = document.querySelector("[data-select-page]");
  if (head) {
    head.checked = ticked > 0 && ticked === all.length;
    head.indeterminate = ticked > 0 && ticked < all.length;
  }
  const count = document.querySelector("[data-selected-count]");
  if (count) count.textContent = ticked === 0 ? "No session selected" : `${ticked} selected`;
  document.querySelector(".bulk-bar")?.toggleAttribute("data-any", ticked > 0);
  for (const button of document.querySelectorAll("[data-needs-selection]")) button.disabled = ticked === 0;
  const everything = document.querySelector("[data-select-everything]");
  if (everything) everything.hidden = !(ticked > 0 && ticked === all.length);
}

export function startSelection() {
  let last = null;
  document.addEventListener("click", (event) => {
    const box = event.target.closest('input[name="session"][type="checkbox"]');
    if (!box) return;
    const all = boxes();
    if (event.shiftKey && last && all.includes(last)) {
      const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
      for (const other of all.slice(from, to + 1)) other.checked = box.checked;
    }
    last = box;
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-select-page]")) for (const box of boxes()) box.checked = event.target.checked;
    if (event.target.matches('[data-select-page], input[name="session"]')) refresh();
    if (event.target.matches("[data-submit-on-change]")) event.target.form?.requestSubmit();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-clear-selection]")) return;
    for (const box of boxes()) box.checked = false;
    refresh();
  });
  // A list that is shown anew keeps the ticks of the sessions that are still in it.
  let kept = new Set();
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target?.id === "session-list") kept = new Set(boxes().filter((box) => box.checked).map((box) => box.value));
  });
  document.addEventListener("htmx:afterSettle", () => {
    for (const box of boxes()) box.checked ||= kept.has(box.value);
    kept.clear();
    refresh();
  });
  window.addEventListener("pageshow", refresh);
  refresh();
}
