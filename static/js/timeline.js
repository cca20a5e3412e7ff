// The timeline: which turn is in view (index and rail follow), and where focus goes after a jump.
function place() {
  const target = document.querySelector(".part.at, .message.at");
  if (!target) return;
  const asked = document.querySelector(".timeline").dataset.asked;
  // Where the fault stands above the conversation it is what is seen first, unless a place was asked for.
  if (!asked && matchMedia("(max-width: 68rem)").matches) return;
  const spot = target.getBoundingClientRect();
  if (spot.top < 120 || spot.bottom > window.innerHeight) target.scrollIntoView({ block: "center", behavior: "instant" });
  // Only who asked for a place has the focus moved there.
  if (asked) (target.querySelector("[data-focus]") ?? target).focus({ preventScroll: true });
}

// The index marks the first turn that is in view. The page's main part may be swapped: nothing of it is held on to.
const seen = new Set();
let pausedUntil = 0;

// Of very many turns the index names some: those around the reader are fetched when they are not among them.
let listed = "";

function list(turn) {
  if (listed === turn.dataset.turn) return;
  listed = turn.dataset.turn;
  const asked = new URLSearchParams(location.search);
  for (const name of ["fault", "at", "to", "outcome"]) asked.delete(name);
  asked.set("from", turn.dataset.first);
  htmx.ajax("GET", `?${asked}`, { target: "#turn-lines", swap: "innerHTML" });
}

function mark() {
  const index = document.querySelector(".turn-index");
  const turns = [...seen].filter((turn) => turn.isConnected);
  if (!index || !turns.length) return;
  const top = turns.reduce((one, other) => (Number(other.dataset.turn) < Number(one.dataset.turn) ? other : one));
  const first = top.dataset.turn;
  let link = null;
  for (const other of index.querySelectorAll("a[data-turn]")) {
    const here = other.dataset.turn === first;
    if (here) other.setAttribute("aria-current", "true");
    else other.removeAttribute("aria-current");
    if (here) link = other;
  }
  if (!link) list(top);
  if (!link || Date.now() <= pausedUntil) return;
  const box = index.getBoundingClientRect();
  const spot = link.getBoundingClientRect();
  if (spot.top < box.top) index.scrollTop -= box.top - spot.top + 8;
  if (spot.bottom > box.bottom) index.scrollTop += spot.bottom - box.bottom + 8;
}

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) seen.add(entry.target);
      else seen.delete(entry.target);
    }
    mark();
  },
  { rootMargin: "-120px 0px -50% 0px" },
);

// Once the tabs are scrolled away, the panes beside the conversation may be as high as the window.
const head = new IntersectionObserver((entries) => {
  document.querySelector(".timeline")?.toggleAttribute("data-scrolled", !entries.at(-1).isIntersecting);
});

function watch() {
  for (const turn of document.querySelectorAll(".turn[data-turn]:not([data-watched])")) {
    turn.dataset.watched = "";
    watcher.observe(turn);
  }
  const tabs = document.querySelector(".session-head > .tabs:not([data-watched])");
  if (tabs) {
    tabs.dataset.watched = "";
    head.observe(tabs);
  }
  const status = document.getElementById("window-status");
  const strip = document.querySelector(".rail .window");
  if (status && strip) {
    strip.setAttribute("y", `${status.dataset.railY}%`);
    strip.setAttribute("height", `${status.dataset.railHeight}%`);
  }
  mark();
}

// After a step to another fault: its line, and the turn of the jump box.
function stepped() {
  const shown = document.getElementById("conversation");
  if (!shown || shown.dataset.stepped !== "") return;
  shown.dataset.stepped = "done";
  document.querySelector(".timeline").dataset.asked = "yes";
  for (const line of document.querySelectorAll(".faults a[data-fault]")) {
    if (line.dataset.fault === shown.dataset.fault) line.setAttribute("aria-current", "true");
    else line.removeAttribute("aria-current");
  }
  const box = document.getElementById("turn-select");
  const turn = [...(box?.options ?? [])].findLast((option) => Number(option.value) <= Number(shown.dataset.start));
  if (turn) box.value = turn.value;
  place();
}

// In the search box Enter goes to the next place (the form), Shift+Enter to the one before.
function stepBack(event) {
  const previous = event.target.id === "find" && event.key === "Enter" && event.shiftKey && document.getElementById("find-previous");
  if (!previous) return;
  event.preventDefault();
  previous.click();
}

export function startTimeline() {
  document.addEventListener("keydown", stepBack);
  document.addEventListener("htmx:afterSettle", () => {
    watch();
    stepped();
  });
  document.addEventListener("wheel", (event) => event.target.closest(".turn-index") && (pausedUntil = Date.now() + 750), { passive: true });
  if (!document.querySelector(".timeline")) return;
  watch();
  place();
  // Browsers look for the address's fragment until the page has loaded, and drop the focus when they find it.
  window.addEventListener("load", () => setTimeout(place));
}
