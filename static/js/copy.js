// <button data-copy="text">, <button data-copy-from="#id"> or the number of a line of JSON, whose value is its pointer:
// copies, and says so in its own name for two seconds.
async function write(text) {
  if (navigator.clipboard && window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("The browser did not allow copying");
}

function said(button, word) {
  const name = button.dataset.name ?? (button.dataset.name = button.getAttribute("aria-label") || button.textContent.trim());
  button.setAttribute("aria-label", `${word}: ${name}`);
  const label = button.querySelector("[data-copy-word]");
  if (label) {
    label.dataset.word ??= label.textContent;
    label.textContent = word;
  }
  button.dataset.done = "";
  clearTimeout(button.restore);
  button.restore = setTimeout(() => {
    button.setAttribute("aria-label", name);
    if (label) label.textContent = label.dataset.word;
    delete button.dataset.done;
  }, 2000);
}

export function startCopy() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy], button[data-copy-from], .json-lines button");
    if (!button) return;
    event.preventDefault();
    const from = button.dataset.copyFrom ? document.querySelector(button.dataset.copyFrom) : null;
    try {
      await write(from ? from.value ?? from.textContent : (button.dataset.copy ?? button.value));
      said(button, "Copied");
    } catch {
      said(button, "Not copied");
    }
  });
}
