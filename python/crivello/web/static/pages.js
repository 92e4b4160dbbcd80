// What the pages do beyond HTML; without it they work as well.
"use strict";

// The key / leads to the search box.
document.addEventListener("keydown", (event) => {
  const box = document.getElementById("q");
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey || !box) return;
  event.preventDefault();
  box.focus();
  box.select();
});

// The status page asks for its figures again, as often as they say.
const live = document.getElementById("live");

async function renew() {
  const lost = document.getElementById("lost");
  if (!document.hidden) {
    try {
      const answer = await fetch(live.dataset.from, { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      live.innerHTML = await answer.text(); // rendered and escaped by the server
      lost.hidden = true;
    } catch {
      lost.hidden = false;
    }
  }
  wait();
}

function wait() {
  const every = Number(live.querySelector("[data-every]").dataset.every);
  setTimeout(renew, every * 1000);
}

if (live) wait();
