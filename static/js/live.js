// A list left open asks now and then whether anything became new, while somebody looks at it; what it hears stands in a
// line of its own, and nothing else moves.
const EVERY = 15_000;
let asked = Date.now();

function look() {
  const news = document.getElementById("news");
  if (!news || document.visibilityState !== "visible" || Date.now() - asked < EVERY - 500) return;
  asked = Date.now();
  htmx.trigger(news, "look");
}

export function startLive() {
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
  document.addEventListener("click", (event) => {
    const dismiss = event.target.closest("[data-dismiss]");
    dismiss?.closest(dismiss.dataset.dismiss)?.replaceChildren();
  });
}
