// The timeline: which turn is in view (index and rail follow), and where focus goes after a jump.
function place() {
  const target = document.querySelector(".part.at, .message.at");
  if (!target) return;
  const spot = target.getBoundingClientRect();
  if (spot.top < 120 || spot.bottom > window.innerHeight) target.scrollIntoView({ block: "center", behavior: "instant" });
  // Only who asked for a place has the focus moved there.
  if (document.querySelector(".timeline").dataset.asked) (target.querySelector("[data-focus]") ?? target).focus({ preventScroll: true });
}

function follow() {
  const links = new Map([...document.querySelectorAll(".turn-index a[data-turn]")].map((link) => [link.dataset.turn, link]));
  if (!links.size) return;
  const index = document.querySelector(".turn-index");
  let pausedUntil = 0;
  index.addEventListener("wheel", () => (pausedUntil = Date.now() + 750), { passive: true });
  const seen = new Set();
  const show = () => {
    const first = [...seen].sort((a, b) => a - b)[0];
    if (first === undefined) return;
    for (const [turn, link] of links) {
      if (turn === String(first)) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (Date.now() > pausedUntil) {
      const link = links.get(String(first));
      const box = index.getBoundingClientRect();
      const spot = link.getBoundingClientRect();
      if (spot.top < box.top) index.scrollTop -= box.top - spot.top + 8;
      if (spot.bottom > box.bottom) index.scrollTop += spot.bottom - box.bottom + 8;
    }
  };
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const turn = Number(entry.target.dataset.turn);
        if (entry.isIntersecting) seen.add(turn);
        else seen.delete(turn);
      }
      show();
    },
    { rootMargin: "-120px 0px -50% 0px" },
  );
  const watch = () => {
    for (const turn of document.querySelectorAll(".turn[data-turn]:not([data-watched])")) {
      turn.dataset.watched = "";
      watcher.observe(turn);
    }
  };
  watch();
  document.addEventListener("htmx:afterSettle", watch);
}

// In the search box Enter goes to the next place (the form), Shift+Enter to the one before.
function stepBack() {
  document.getElementById("find")?.addEventListener("keydown", (event) => {
    const previous = event.key === "Enter" && event.shiftKey && document.getElementById("find-previous");
    if (!previous) return;
    event.preventDefault();
    previous.click();
  });
}

export function startTimeline() {
  stepBack();
  if (!document.querySelector(".timeline")) return;
  place();
  // Browsers look for the address's fragment until the page has loaded, and drop the focus when they find it.
  window.addEventListener("load", () => setTimeout(place));
  follow();
}
