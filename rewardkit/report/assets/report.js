"use strict";
(() => {
  const query = document.getElementById("query");
  const shown = document.getElementById("shown");
  const boxes = [...document.querySelectorAll("#filter input[name=outcome]")];
  const groups = [...document.querySelectorAll("[data-group]")];
  const examples = [...document.querySelectorAll("[data-group] .example")];
  const texts = new Map(examples.map((e) => [e, e.textContent.toLowerCase()]));
  const update = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(boxes.filter((b) => b.checked).map((b) => b.value));
    let count = 0;
    for (const example of examples) {
      const text = texts.get(example);
      const fits = wanted.has(example.dataset.outcome) && words.every((w) => text.includes(w));
      example.hidden = !fits;
      count += fits;
    }
    for (const group of groups) {
      group.hidden = !group.querySelector(".example:not([hidden])");
    }
    shown.textContent = `${count} of ${examples.length} examples`;
  };
  document.getElementById("filter").addEventListener("input", update);
  document.getElementById("filter").addEventListener("submit", (e) => e.preventDefault());
  // A link such as report.html#q=boxed opens with that search.
  const wish = new URLSearchParams(location.hash.slice(1)).get("q");
  if (wish) query.value = wish;
  update();
})();
