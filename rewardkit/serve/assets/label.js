"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const who = new URLSearchParams(location.search).get("as") || "a";
  const percent = (rate) => `${(100 * rate).toFixed(1)} %`;
  let row = null;
  let busy = false;

  const gauge = (rate) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", "0 0 100 6");
    svg.setAttribute("preserveAspectRatio", "none");
    const bars = [["range", rate.low, Math.max(rate.high - rate.low, 0.004)], ["point", rate.value - 0.003, 0.006]];
    for (const [kind, from, width] of bars) {
      const bar = document.createElementNS(space, "rect");
      bar.setAttribute("class", kind);
      bar.setAttribute("x", 100 * from);
      bar.setAttribute("width", 100 * width);
      bar.setAttribute("height", 6);
      svg.append(bar);
    }
    const box = document.createElement("div");
    box.className = "gauge";
    box.append(svg);
    return box;
  };

  const showRate = (name, words, rate) => {
    const box = document.createElement("div");
    const value = document.createElement("b");
    box.className = "rate";
    box.dataset.rate = name;
    value.textContent = percent(rate.value);
    box.append(words, document.createElement("br"), value, `${percent(rate.low)} to ${percent(rate.high)}`, gauge(rate));
    return box;
  };

  const showStatus = (status) => {
    at("mine").textContent = status.labels[who] || 0;
    const rates = at("rates");
    rates.replaceChildren();
    if (status.rho0) {
      rates.append(
        showRate("rho0", "wrong ones that it accepts (rho0)", status.rho0),
        showRate("rho1", "right ones that it rejects (rho1)", status.rho1),
      );
    }
    const facts = [];
    if (status.needed === 0) facts.push("Both rates are known as well as was asked for.");
    else if (status.needed !== null) facts.push(`About ${status.needed.toLocaleString("en")} more labels are needed.`);
    else facts.push(status.missing ? "More labels are needed before there are rates." : "The verdicts look like a coin's so far.");
    if (status.unsure) facts.push(`${status.unsure} could not be judged.`);
    if (status.disputed) facts.push(`${status.disputed} disputed.`);
    at("needed").textContent = facts.join(" ");
    const both = status.agreement;
    at("agreement").textContent = both
      ? `Two people agree on ${percent(both.observed)} of ${both.rows} rows; kappa ${both.kappa === null ? "is not defined" : both.kappa.toFixed(2)}.`
      : "";
  };

  const showRow = (next) => {
    row = next;
    at("task").hidden = row === null;
    at("done").hidden = row !== null;
    for (const id of ["right", "wrong", "unsure"]) at(id).disabled = row === null;
    if (row === null) return;
    // The server has escaped each of these; the page's policy lets no other script run.
    for (const part of ["prompt", "completion", "reference", "answer"]) at(part).innerHTML = row[part];
    if (!row.answer) at("answer").textContent = "(none)";
    at("prompt-part").hidden = !row.prompt;
    window.scrollTo(0, 0);
  };

  const ask = async (path, body) => {
    const options = body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    };
    const response = await fetch(path, options);
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error || response.statusText);
    return answer;
  };

  const once = async (work) => {
    if (busy) return;
    busy = true;
    at("error").textContent = "";
    try {
      await work();
    } catch (error) {
      at("error").textContent = `${error.message}. Nothing is lost: try again.`;
    } finally {
      busy = false;
    }
  };

  const load = async (path) => {
    const answer = await ask(`${path}?as=${encodeURIComponent(who)}`);
    at("title").textContent = answer.title;
    document.title = `${answer.title} · rewardkit label`;
    showStatus(answer.status);
    if (path === "next" || answer.row) showRow(answer.row);
  };

  const give = (judgement) => once(async () => {
    if (row === null) return;
    const answer = await ask("label", { row_id: row.row_id, judgement, annotator: who });
    const verdict = at("verdict");
    const word = document.createElement("b");
    word.className = answer.accepted ? "accepted" : "rejected";
    word.textContent = answer.accepted ? "accepted" : "rejected";
    const rest = document.createElement("span");
    rest.innerHTML = answer.verdict;
    verdict.replaceChildren(`The row before: you said ${judgement}, the verifier `, word, " it: ", rest);
    await load("next");
  });

  const save = () => once(async () => {
    const answer = await ask("export", {});
    at("exported").textContent = `Written: ${answer.path}`;
  });

  const actions = {
    r: () => give("right"), w: () => give("wrong"), u: () => give("unsure"),
    b: () => once(() => load("last")), e: save,
  };
  const buttons = { right: "r", wrong: "w", unsure: "u", back: "b", export: "e" };
  for (const [id, key] of Object.entries(buttons)) at(id).addEventListener("click", actions[key]);
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    const action = actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
  at("who").textContent = who;
  once(() => load("next"));
})();
