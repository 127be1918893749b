"use strict";
(() => {
  const list = document.getElementById("iterations");
  const items = [...list.querySelectorAll(":scope > details")];
  const find = list.querySelector(".find"), input = find.querySelector("input"), count = find.querySelector("output");
  const summaries = () => [...document.querySelectorAll("summary")].filter((s) => {
    const around = s.parentNode.parentNode;
    return !s.parentNode.hidden && !around.closest("details:not([open]), [hidden]");
  });
  const focus = (s) => {
    if (!s) return;
    s.focus({preventScroll: true});
    s.scrollIntoView({block: "nearest"});
  };
  const move = (by) => {
    const all = summaries(), at = all.indexOf(document.activeElement);
    const from = at < 0 ? all.indexOf(items.find((d) => !d.hidden)?.firstElementChild) - (by > 0) : at;
    focus(all[Math.min(Math.max(from + by, 0), all.length - 1)]);
  };
  const close = () => {
    let d = document.activeElement.closest("details");
    if (d && !d.open) d = d.parentNode.closest("details");
    if (!d) return;
    d.open = false;
    focus(d.firstElementChild);
  };
  const filter = () => {
    const words = input.value.trim().toLowerCase();
    let shown = 0;
    for (const d of items) {
      d.hidden = words !== "" && !d.textContent.toLowerCase().includes(words);
      shown += !d.hidden;
    }
    count.value = words && `${shown} of ${items.length}`;
  };
  const jump = () => {
    const to = document.getElementById(location.hash.slice(1));
    if (!to?.parentNode.matches("details")) return;
    input.value = "";
    filter();
    to.parentNode.open = true;
    to.parentNode.scrollIntoView();
    to.parentNode.firstElementChild.focus({preventScroll: true});
  };
  let wait;
  input.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(filter, 150);
  });
  addEventListener("hashchange", jump);
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const onSummary = document.activeElement.matches("summary");
    if (e.target === input) {
      if (e.key === "Escape") {
        input.value = "";
        input.blur();
        filter();
      } else if (e.key === "Enter" || e.key === "ArrowDown") {
        filter();
        focus(items.find((d) => !d.hidden)?.firstElementChild);
        e.preventDefault();
      }
      return;
    }
    if (e.key === "/") input.focus();
    else if (e.key === "j" || (onSummary && e.key === "ArrowDown")) move(1);
    else if (e.key === "k" || (onSummary && e.key === "ArrowUp")) move(-1);
    else if (e.key === "Escape") close();
    else return;
    e.preventDefault();
  });
  find.hidden = false;
  jump();
})();
