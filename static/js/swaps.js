// What every htmx swap needs: failures in words where the fragment would be, focus that is not lost, scroll kept when
// earlier turns are put above the reader.
function fail(target, words) {
  const region = document.getElementById("alerts");
  const note = document.createElement("p");
  note.className = "notice tone-blocked";
  const text = document.createElement("span");
  text.className = "notice-text";
  text.textContent = words;
  note.append(text);
  region.replaceChildren(note);
  target?.removeAttribute?.("aria-busy");
}

// Progress is drawn each second and said at 0, 25, 50, 75 and 100 % only; the page's title follows it.
let quarter = -1;
function sayProgress() {
  const percent = Number(document.querySelector("#progress[data-percent]")?.dataset.percent ?? NaN);
  if (Number.isNaN(percent)) return;
  document.title = document.title.replace(/^\d+ %/, `${percent} %`);
  const now = Math.floor(percent / 25);
  if (now === quarter) return;
  quarter = now;
  let region = document.getElementById("progress-said");
  if (!region) {
    region = document.createElement("p");
    region.id = "progress-said";
    region.className = "visually-hidden";
    region.setAttribute("role", "status");
    document.getElementById("main").append(region);
  }
  region.textContent = `${now * 25} % done`;
}

// What came of an action is read first, wherever the page was scrolled to.
function sayOutcome(region) {
  const words = region?.querySelector?.("#outcome-words");
  words?.focus({ preventScroll: true });
  return Boolean(words);
}

export function startSwaps() {
  sayOutcome(document);
  if (document.querySelector("#progress[hx-get]")) sayProgress();
  const body = document.body;
  let anchor = null;
  body.addEventListener("htmx:beforeRequest", (event) => event.detail.target?.setAttribute?.("aria-busy", "true"));
  body.addEventListener("htmx:afterRequest", (event) => event.detail.target?.removeAttribute?.("aria-busy"));
  const quiet = (event) => event.detail.elt?.id === "news"; // nobody waits for it, and it asks again
  body.addEventListener("htmx:responseError", (event) => {
    if (quiet(event)) return;
    const status = event.detail.xhr.status;
    const words = status === 403 ? "This page was open for too long, or you may not do that. Load it again and send once more." : `The server answered ${status}. The rest of the page still works; try again.`;
    fail(event.detail.target, words);
  });
  body.addEventListener("htmx:sendError", (event) => quiet(event) || fail(event.detail.target, "The server cannot be reached. Nothing was lost; try again."));
  body.addEventListener("htmx:beforeSwap", (event) => {
    // A form whose token is too old comes back with what was typed, in place of the page.
    if (event.detail.xhr.getResponseHeader("X-Send-Again")) {
      Object.assign(event.detail, { shouldSwap: true, isError: false, target: document.getElementById("main") });
      Object.assign(event.detail, { selectOverride: "#main", swapOverride: "outerHTML" });
      return;
    }
    // Refusals and conflicts come with a card that explains them: show it.
    if ([409, 422].includes(event.detail.xhr.status)) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
    if (event.detail.target?.matches?.("[data-keep-scroll]")) {
      const first = document.querySelector(".turn[data-turn]");
      anchor = first ? { id: first.id, top: first.getBoundingClientRect().top } : null;
    }
  });
  body.addEventListener("htmx:afterSettle", (event) => {
    if (quarter >= 0) sayProgress();
    if (anchor) {
      const first = document.getElementById(anchor.id);
      if (first) window.scrollBy({ top: first.getBoundingClientRect().top - anchor.top, behavior: "instant" });
      anchor = null;
      return;
    }
    const region = event.detail.elt;
    if (sayOutcome(region)) return;
    if (!document.activeElement || document.activeElement === document.body) {
      region?.querySelector?.("[data-focus]")?.focus({ preventScroll: true });
    }
  });
}
