// What an edition holds, and each column of its tables: heading, how it is computed, order and cell.
const EDITION = JSON.parse(document.getElementById("data").textContent);
const STEP = 100;
const KINDS = { reproduced: "reproduced", published: "published", trivial: "trivial" };
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d46", "#7a7f2e", "#868e97"];
const WORDS = {
  diverged: "✕ diverged", failed: "! failed", missing: "… missing", "not run": "· not run", better: "▲ better",
  worse: "▼ worse", reproduced: "= reproduced", undecided: "? undecided",
};
const byKey = new Map(EDITION.rows.map((row) => [row.key, row]));
const families = [...new Set(EDITION.rows.map((row) => row.family).filter(Boolean))].sort();
const titles = new Map(EDITION.rows.filter((row) => row.family).map((row) => [row.model, row]));
const $ = (id) => document.getElementById(id);

/** Return a new element; children are nodes or text, so no data is ever read as HTML. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

function duration(seconds) {
  if (!seconds) return "—";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= size) return `${(seconds / size).toPrecision(3)} ${unit}`;
  }
  return `${seconds.toPrecision(3)} s`;
}

const count = (value) => (value === null || value === undefined ? "—" : value.toLocaleString("en"));
const many = (value, what) => `${count(value)} ${what}${value === 1 ? "" : "s"}`;
const tenth = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
const short = (value) => (typeof value === "number" ? String(Number(value.toPrecision(5))) : String(value));
const settingsOf = (row) => Object.entries(row.settings).map(([name, value]) => `${name} ${short(value)}`).join(", ");
const boardOf = (row) => EDITION.boards[row.board];
const measured = (board) => `${board.metric}${board.unit && board.unit !== "1" ? ` [${board.unit}]` : ""}`;
const arrow = (board) => (board.goal === "max" ? "↑ higher is better" : "↓ lower is better");

function dot(family) {
  const colour = COLOURS[families.indexOf(family) % COLOURS.length];
  return family ? make("span", { class: "dot", style: `background:${colour}`, title: `family ${family}` }) : null;
}

function stateWord(word) {
  return make("span", { class: word.replace(" ", "") }, WORDS[word] || word);
}

function verdictWord(number) {
  if (number.verdict === "not run") return stateWord("not run");
  const gap = number.gap === null || number.gap === undefined ? "" : ` ${tenth(number.gap)} sd`;
  const kind = number.verdict === "reproduced" ? "reproduced-word" : number.verdict;
  const doubt = number.too_good ? make("span", { class: "doubt small" }, "too good: look for a leak") : null;
  return make("div", { title: number.judged }, make("span", { class: kind }, WORDS[number.verdict] + gap), doubt);
}

function result(row) {
  if (row.state !== "ok") return stateWord(row.state);
  const lost = ["diverged", "failed", "missing"].filter((name) => row[name]);
  const n = row.kind === "trivial" || !row.n ? "" : ` (${row.n})`;
  const hint = row.interval ? `95 % interval of the mean: ${row.interval}` : null;
  return make("span", { title: hint }, row.text + n, row.provisional ? make("span", { class: "small" }, "provisional") : "",
    lost.map((name) => make("span", { class: `small ${name}` }, `${row[name]} ${name}`)));
}

function copyButton(text) {
  const act = async (event) => {
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = make("textarea", {}, text);
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1200);
  };
  return make("button", { type: "button", class: "copy", "aria-label": `Copy: ${text}`, on: { click: act } }, "copy");
}

function commandOf(row) {
  return row.command ? make("span", {}, make("code", {}, row.command), copyButton(row.command)) : "—";
}

function title(row) {
  const detail = row.kind === "reproduced" ? settingsOf(row) : row.kind === "published" ? "published" : "trivial predictor";
  return [dot(row.family), make("a", { href: link({ row: row.key }) }, row.title), make("span", { class: "small" }, detail)];
}

const first = (row) => row.published[0] || {};
const seedsText = (row) => ["n", "diverged", "failed", "missing"].filter((name) => row[name])
  .map((name) => `${row[name]} ${name === "n" ? "ok" : name}`).join(", ") || "—";
const reproduced = (row, text) => (row.kind === "reproduced" ? text : "—");

// name: heading, how it is computed, value to sort by, cell, good direction (1 up, −1 down, 0 by the board's goal).
const COLUMNS = {
  board: ["Board", "Task and its variant; rows are ranked within one board.", (r) => boardOf(r).name,
    (r) => make("a", { href: link({ view: boardOf(r).name, row: "" }) }, boardOf(r).name), 1, "nowrap"],
  rank: ["Rank", "Best and worst rank that Welch tests of all pairs, adjusted by Holm at 5 %, allow among the rows of the"
    + " board that the choice of models and of seeds leaves. Published numbers and trivial predictors have none.",
    (r) => standing(r).rank_low, (r) => span(standing(r)), 1, "number"],
  ties: ["Ties", "Rows that share a letter are not told apart by those tests; “a” is the best group.",
    (r) => standing(r).ties || null, (r) => standing(r).ties || "—", 1],
  model: ["Model", "Name in print, options that are not the default, and the settings of this row. The colour is its"
    + " family.", (r) => r.title.toLowerCase(), title, 1],
  result: ["Result", "mean ± std (n): mean and standard deviation (n − 1) of the test metric over the n retrainings with"
    + " fresh seeds that ended ok, each scored at its best epoch on validation; two digits of the deviation. Hover for"
    + ` the 95 % interval. Provisional: fewer than ${EDITION.enough} retrainings.`, (r) => r.mean, result, 0, "nowrap result"],
  interval: ["95 % interval", "t-interval of the mean over the retrainings.", (r) => r.low, (r) => r.interval || "—", 0,
    "nowrap"],
  published: ["Published", "Numbers that papers print for this model here: value, statistic, n and source.",
    (r) => first(r).value, (r) => (r.published.length ? r.published.map((p) => make("div", { class: "published-number" },
      p.text)) : "—"), 0, "wide"],
  verdict: ["Verdict", "Our scores against each published number, tested at 5 %; and the gap in standard deviations,"
    + " positive where ours is better. Undecided: the seeds or what was printed do not suffice. Too good: beyond what"
    + " the printed spread explains.", (r) => first(r).gap,
    (r) => (r.published.length ? r.published.map(verdictWord) : "—"), -1, "nowrap"],
  seeds: ["Retrainings", "How the retrainings ended. Diverged, failed and missing ones are counted and never averaged.",
    (r) => r.n, (r) => reproduced(r, seedsText(r)), -1, "nowrap"],
  verification: ["Verified", `How far the numbers are verified where this edition was written. ${EDITION.verified}`,
    (r) => r.verification || null, (r) => r.verification || "—", 1],
  protocol: ["Protocol", "How the training differs from the published recipe.", (r) => r.departures.length,
    (r) => reproduced(r, r.departures.join("; ") || "as published"), 1, "wide"],
  hidden: ["Hidden", "Units of a layer.", (r) => r.hidden || null, (r) => (r.hidden ? count(r.hidden) : "—"), 1, "number"],
  parameters: ["Parameters", "Trainable numbers; of published rows, as printed.", (r) => r.parameters,
    (r) => count(r.parameters), 1, "number"],
  valid: ["Validation", "Mean of the best validation metric; what a model's best row is chosen by.", (r) => r.valid,
    (r) => (r.valid === null ? "—" : short(r.valid)), 0, "number"],
  searched: ["Searched", "Search trials behind the choice of the settings.", (r) => (r.kind === "reproduced" ? r.searched
    : null), (r) => reproduced(r, `${count(r.searched)}${r.search_diverged ? ` (${r.search_diverged} diverged)` : ""}`), 1,
    "number"],
  train: ["Time to train", "Seconds of all retrainings together.", (r) => r.train_seconds || null,
    (r) => duration(r.train_seconds), 1, "number"],
  find: ["Time to find", "Seconds of the search.", (r) => r.find_seconds || null, (r) => duration(r.find_seconds), 1,
    "number"],
  command: ["Command", "Trains the row once more with a fresh seed and checks its number.", null, commandOf, 1, "nowrap"],
};
const STANDARD = "rank ties model result published verdict verification protocol parameters command".split(" ")
  .filter((name) => name !== "verification" || EDITION.rows.some((r) => r.verification && r.verification !== EDITION.here));
