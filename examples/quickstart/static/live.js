// Asks for the moving part of the overview every two seconds. The server renders it,
// so nothing that a respondent typed is ever put together here.
const live = document.getElementById("live");
let shown = "";

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(live.dataset.live);
    if (!answer.ok) return;
    const html = await answer.text();
    if (html === shown) return;
    const open = [...live.querySelectorAll("details[open]")].map((d) => d.dataset.id);
    live.innerHTML = html;
    for (const d of live.querySelectorAll("details")) d.open = open.includes(d.dataset.id);
    shown = html;
  } catch {
    // The program was stopped; the page keeps what it shows.
  }
}
setInterval(refresh, 2000);
document.addEventListener("visibilitychange", refresh);

for (const button of document.querySelectorAll(".copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy);
    text.select();
    await navigator.clipboard.writeText(text.value);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}
