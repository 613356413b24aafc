"use strict";
(() => {
  const groups = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("filter");
  const list = document.getElementById("list");
  const more = document.getElementById("more");
  const AT_ONCE = 20;
  let limit = AT_ONCE;

  // All that a model wrote goes through here: as text, never as markup.
  const make = (tag, kind, ...inside) => {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    element.append(...inside);
    return element;
  };
  const plain = (pieces) => pieces.map((p) => (typeof p === "string" ? p : p.graded || p.hidden || " … ")).join("");
  const piece = (p) => {
    if (typeof p === "string") return p;
    if ("graded" in p) return make("mark", "", p.graded);
    if ("gap" in p) return make("span", "gap", `… ${p.gap.toLocaleString("en")} characters left out …`);
    const hidden = make("span", "hidden", p.hidden);
    hidden.title = p.name;
    return hidden;
  };
  const text = (name, pieces) => {
    const block = make("pre", "", ...pieces.map(piece));
    block.dir = "auto";
    return [make("h4", "", name), block];
  };
  const line = (pieces, length = 110) => {
    const whole = plain(pieces).split(/\s+/).join(" ").trim();
    return whole.length > length ? `${whole.slice(0, length)}…` : whole;
  };
  const number = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))));
  const outcome = (reward) => (reward === null ? "abstained" : reward >= 1 ? "passed" : reward > 0 ? "partial" : "failed");
  const reasons = (row) => row.components.filter((c) => c.reason).map((c) => `${c.name}: ${c.reason}`);

  for (const group of groups) {
    const decided = group.rows.map((r) => r.reward).filter((r) => r !== null);
    group.contrast = new Set(decided).size > 1;
    group.mean = decided.length ? decided.reduce((a, b) => a + b, 0) / decided.length : null;
    const shared = `${plain(group.prompt)} ${plain(group.reference)} ${group.columns.flat().join(" ")}`;
    for (const row of group.rows) {
      const verdicts = row.components.flatMap((c) => [c.name, c.reason, c.answer, c.detail]);
      row.text = `${shared} ${plain(row.completion)} ${verdicts.filter(Boolean).join(" ")}`.toLowerCase();
    }
  }
  const known = new Set(groups.flatMap((g) => g.rows.flatMap(reasons)));
  for (const reason of [...known].sort()) form.elements.reason.append(new Option(reason, reason));

  const wanted = () => {
    const given = Object.fromEntries(new FormData(form));
    const bound = (name, other) => (given[name] === "" ? other : Number(given[name]));
    const yes = (choice, value) => choice === "" || (choice === "yes") === value;
    const words = given.q.toLowerCase().split(/\s+/).filter(Boolean);
    const [from, to] = [bound("from", -Infinity), bound("to", Infinity)];
    const [low, high] = [bound("low", -Infinity), bound("high", Infinity)];
    const limited = low !== -Infinity || high !== Infinity;
    return {
      view: given.view,
      group: (g) => g.step >= from && g.step <= to && yes(given.contrast, g.contrast),
      row: (r) =>
        (r.reward === null ? !limited : r.reward >= low && r.reward <= high) &&
        yes(given.decided, r.reward !== null) &&
        yes(given.truncated, r.truncated) &&
        (given.reason === "" || reasons(r).includes(given.reason)) &&
        words.every((w) => r.text.includes(w)),
    };
  };

  const verdictTable = (row) => {
    const head = make("tr", "", ...["component", "value", "reason", "graded", "why"].map((n) => make("th", "", n)));
    const lines = row.components.map((c) =>
      make("tr", "", make("th", "", c.name), ...[c.value, c.reason, c.answer, c.detail].map((v) => make("td", "", v || ""))),
    );
    return make("div", "scroll", make("table", "verdicts", make("thead", "", head), make("tbody", "", ...lines)));
  };
  const card = (row, group, fits, alone) => {
    const facts = [`${row.tokens.toLocaleString("en")} tokens`];
    if (alone) facts.unshift(`step ${group.step}, group ${group.group}`);
    const side = make("span", "row-id", facts.join(" · "));
    if (row.truncated) side.append(" · ", make("span", "cut", "truncated"));
    const advantage = make("span", "advantage", row.advantage === null ? "" : `A ${row.advantage >= 0 ? "+" : ""}${number(row.advantage)}`);
    const answer = make("span", "answer", line(row.completion) || "(empty)");
    const badge = make("span", `badge ${outcome(row.reward)}`, number(row.reward));
    const details = make("details", "example", make("summary", "", badge, advantage, answer, side));
    details.dataset.outcome = outcome(row.reward);
    details.dataset.fits = fits ? "yes" : "no";
    // The body is made when it is opened: a page of thousands stays quick.
    details.addEventListener("toggle", () => {
      if (!details.open || details.querySelector(".body")) return;
      const body = make("div", "body", verdictTable(row), ...text("Completion", row.completion));
      if (alone) body.append(...context(group));
      details.append(body);
    });
    return details;
  };
  const context = (group) => {
    const parts = [...text("Prompt", group.prompt)];
    if (group.reference.length) parts.push(...text("Reference", group.reference));
    if (group.columns.length) {
      parts.push(make("dl", "", ...group.columns.flatMap(([n, v]) => [make("dt", "", n), make("dd", "", v)])));
    }
    return parts;
  };
  const whole = (group, fitting) => {
    const note = `mean reward ${number(group.mean)}${group.contrast ? "" : ", no contrast"}`;
    const title = make("h3", "", `Step ${group.step}, group ${group.group} `, make("span", "note", note));
    const about = make("details", "example", make("summary", "", make("span", "note", "prompt"), make("span", ""), make("span", "answer", line(group.prompt)), make("span", "row-id", group.reference.length ? `reference ${line(group.reference, 40)}` : "")), make("div", "body", ...context(group)));
    about.dataset.about = "prompt";
    return make("section", "rollouts", title, about, ...group.rows.map((r) => card(r, group, fitting.has(r), false)));
  };

  const update = () => {
    const want = wanted();
    const found = groups.filter(want.group).map((g) => [g, new Set(g.rows.filter(want.row))]).filter(([, rows]) => rows.size);
    const count = found.reduce((sum, [, rows]) => sum + rows.size, 0);
    let cards = [];
    if (want.view === "rows") {
      const rows = found.flatMap(([g, fitting]) => [...fitting].map((r) => [r, g]));
      cards = rows.slice(0, limit * 4).map(([r, g]) => card(r, g, true, true));
      more.hidden = rows.length <= limit * 4;
    } else {
      cards = found.slice(0, limit).map(([g, fitting]) => whole(g, fitting));
      more.hidden = found.length <= limit;
    }
    list.replaceChildren(...cards);
    document.getElementById("shown").textContent = `${count} completions in ${found.length} groups`;
  };
  form.addEventListener("input", () => { limit = AT_ONCE; update(); });
  form.addEventListener("submit", (e) => e.preventDefault());
  more.addEventListener("click", () => { limit += AT_ONCE; update(); });
  // A link such as rollouts.html#from=90&truncated=yes opens with that choice.
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (form.elements[name]) form.elements[name].value = value;
  }
  update();
})();
