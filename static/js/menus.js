// Menus are <details>: one is open at a time, Escape or a click elsewhere closes it, and that of a row stays in the window.
const open = () => document.querySelectorAll("details.menu[open]");

function close(but) {
  for (const menu of open()) if (menu !== but && !menu.contains(but)) menu.open = false;
}

function fit(menu) {
  const panel = menu.querySelector(":scope > .menu-panel");
  const over = panel ? panel.getBoundingClientRect().bottom - window.innerHeight + 8 : 0;
  if (menu.matches(".row-menu") && over > 0) panel.style.marginTop = `${-over}px`;
}

export function startMenus() {
  document.addEventListener("toggle", (event) => {
    if (!event.target.matches?.("details.menu") || !event.target.open) return;
    close(event.target);
    fit(event.target);
  }, true);
  document.addEventListener("click", (event) => close(event.target));
  document.addEventListener("scroll", () => document.querySelectorAll(".row-menu[open]").forEach((menu) => (menu.open = false)));
  document.addEventListener("keydown", (event) => {
    const [menu] = open();
    if (event.key !== "Escape" || !menu) return;
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside) menu.querySelector("summary").focus();
    event.preventDefault();
  }, true);
}
