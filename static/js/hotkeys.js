// Single-key shortcuts. A key presses the visible link or button that carries data-key; a few keys move between rows.
// <body data-shortcuts="on|alt|off"> is the reader's choice (WCAG 2.1.4); fields never lose a key.
const typing = (target) => target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
const visible = (node) => node.getClientRects().length > 0;

function press(key) {
  const node = [...document.querySelectorAll("[data-key]")].find((item) => item.dataset.key.split(" ").includes(key) && visible(item));
  if (!node) return false;
  if (node.matches("input, select, textarea")) {
    node.focus();
    node.select?.();
  } else if (node.matches("details")) {
    node.open = !node.open;
    node.querySelector("summary").focus();
  } else {
    node.click();
  }
  return true;
}

function moveRow(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  if (!rows.length) return false;
  const at = rows.findIndex((row) => row.contains(document.activeElement) || row.hasAttribute("data-current"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  for (const row of rows) row.toggleAttribute("data-current", row === next);
  next.querySelector("[data-row-link]").focus();
  return true;
}

function inRow(what) {
  const row = document.activeElement?.closest?.("[data-row]") ?? document.querySelector("[data-row][data-current]");
  const link = row?.querySelector(what);
  if (!link) return false;
  link.click();
  return true;
}

function toggleRow() {
  const row = document.activeElement?.closest?.("[data-row]");
  const box = row?.querySelector('input[type="checkbox"]');
  if (!box) return false;
  box.click();
  return true;
}

let waitingForPlace = 0;

function handle(key) {
  if (waitingForPlace && Date.now() - waitingForPlace < 1200) {
    waitingForPlace = 0;
    return press(`g ${key}`) || press(`g-${key}`);
  }
  waitingForPlace = 0;
  if (key === "g") {
    waitingForPlace = Date.now();
    return true;
  }
  if (document.querySelector("[data-row]")) {
    if (key === "j" || key === "ArrowDown") return moveRow(1);
    if (key === "k" || key === "ArrowUp") return moveRow(-1);
    if (key === "x") return toggleRow();
    if (key === "m") return inRow("[data-menu]");
    if (key === "o" || (key === " " && document.activeElement?.matches?.("[data-row-link], [data-peek]"))) return inRow("[data-peek]");
  }
  return press(key);
}

export function startHotkeys() {
  document.addEventListener("keydown", (event) => {
    const mode = document.body.dataset.shortcuts || "on";
    if (mode === "off" || event.ctrlKey || event.metaKey || event.defaultPrevented || event.isComposing) return;
    if ((mode === "alt") !== event.altKey) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const key = mode === "alt" && event.code.startsWith("Key") ? event.code.slice(3).toLowerCase() : event.key;
    if (key.startsWith("Arrow") && !event.target.closest("[data-row]")) return;
    if (handle(key)) event.preventDefault();
  });
}
