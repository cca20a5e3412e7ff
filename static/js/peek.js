// The row of the session that stands beside the list is marked, whichever way it came there.
function mark() {
  const shown = document.getElementById("peek")?.dataset.session;
  for (const row of document.querySelectorAll("[data-row]")) {
    if (shown && row.dataset.session === shown) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}

export function startPeek() {
  document.body.addEventListener("htmx:afterSettle", mark);
}
