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
  if (!document.querySelector(".turn-index a[data-turn]")) return;
  const index = document.querySelector(".turn-index");
  let pausedUntil = 0;
  index.addEventListener("wheel", () => (pausedUntil = Date.now() + 750), { passive: true });
  const seen = new Set();
  const show = () => {
    const first = [...seen].sort((a, b) => a - b)[0];
    if (first === undefined) return;
    let link = null;
    for (const other of index.querySelectorAll("a[data-turn]")) {
      const here = other.dataset.turn === String(first);
      if (here) other.setAttribute("aria-current", "true");
      else other.removeAttribute("aria-current");
      if (here) link = other;
    }
    if (link && Date.now() > pausedUntil) {
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

// The lines of the index around the window, where they are not there.
function listed(shown) {
  const turn = shown.querySelector(".turn[data-turn]")?.dataset.turn;
  if (!turn || document.querySelector(`.turn-index a[data-turn="${turn}"]`)) return;
  const asked = new URLSearchParams(location.search);
  for (const name of ["fault", "at"]) asked.delete(name);
  asked.set("from", shown.dataset.start);
  htmx.ajax("GET", `?${asked}`, { target: "#turn-lines", swap: "innerHTML" });
}

// After a step to another fault: its line, the window on the rail and the turn of the jump box.
function stepped() {
  const shown = document.getElementById("conversation");
  if (!shown || shown.dataset.stepped !== "") return;
  shown.dataset.stepped = "done";
  document.querySelector(".timeline").dataset.asked = "yes";
  for (const line of document.querySelectorAll(".faults a[data-fault]")) {
    if (line.dataset.fault === shown.dataset.fault) line.setAttribute("aria-current", "true");
    else line.removeAttribute("aria-current");
  }
  const rail = document.querySelector(".rail .window");
  rail?.setAttribute("y", `${shown.dataset.railY}%`);
  rail?.setAttribute("height", `${shown.dataset.railHeight}%`);
  const box = document.getElementById("turn-select");
  const turn = [...(box?.options ?? [])].findLast((option) => Number(option.value) <= Number(shown.dataset.start));
  if (turn) box.value = turn.value;
  listed(shown);
  place();
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
  document.addEventListener("htmx:afterSettle", stepped);
}
