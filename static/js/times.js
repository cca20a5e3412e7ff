// Absolute times are written in UTC; here they become the reader's own, with UTC in the title.
const two = (number) => String(number).padStart(2, "0");

function localise() {
  for (const time of document.querySelectorAll("time[data-local]")) {
    const at = new Date(time.dateTime);
    time.removeAttribute("data-local");
    if (Number.isNaN(at.getTime())) continue;
    time.title = time.textContent;
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    time.textContent = `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
  }
}

export function startTimes() {
  localise();
  document.body.addEventListener("htmx:afterSettle", localise);
}
