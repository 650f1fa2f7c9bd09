"use strict";
// The page of one edition. All state is in the URL's hash; every table is drawn from it, one part of the rows at a time.
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
  rank: ["Rank", "Best and worst rank that Welch tests of all pairs, adjusted by Holm at 5 %, allow in the whole pool of"
    + " the board. Published numbers and trivial predictors have none.", (r) => r.rank_low, (r) => r.rank, 1, "number"],
  ties: ["Ties", "Rows that share a letter are not told apart by those tests; “a” is the best group.",
    (r) => r.ties || null, (r) => r.ties || "—", 1],
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
const STANDARD = "rank ties model result published verdict protocol parameters command".split(" ");

const FRESH = { view: "", q: "", sort: "", models: "", kinds: "", prov: "1", seeds: "0", cols: "", page: "0", row: "" };
let state = { ...FRESH };

function link(change) {
  const next = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...state, ...change })) if (value !== FRESH[name]) next.set(name, value);
  return `#${next}`;
}

function read() {
  state = { ...FRESH, ...Object.fromEntries([...new URLSearchParams(location.hash.slice(1))].filter(([k]) => k in FRESH)) };
}

/** Change the state; a filter takes the place of the last entry in the history, a page is a new one. */
function set(change) {
  const target = link("page" in change ? change : { ...change, page: "0" });
  history.replaceState(null, "", target === "#" ? location.pathname + location.search : target);
  draw();
}

const list = (text) => text.split(" ").filter(Boolean);
const place = () => EDITION.boards.findIndex((board) => board.name === state.view);
const columns = () => (state.cols ? list(state.cols) : state.view === "all rows" ? ["board", ...STANDARD] : STANDARD);

function searchText(row) {
  row.text_of_all ??= [row.title, row.model, row.family, settingsOf(row), row.key, boardOf(row).name, row.state,
    ...["diverged", "failed", "missing"].filter((name) => row[name]), ...row.departures, ...row.published.flatMap((p) => [p.text, p.verdict])].join(" ").toLowerCase();
  return row.text_of_all;
}

function matches(row) {
  const models = list(state.models);
  const kinds = list(state.kinds);
  return (!models.length || models.includes(row.model)) && (!kinds.length || kinds.includes(row.kind))
    && (row.kind !== "reproduced" || ((state.prov === "1" || !row.provisional) && row.n >= Number(state.seeds)))
    && list(state.q.toLowerCase()).every((word) => searchText(row).includes(word));
}

function sorted(rows) {
  const [name, way] = state.sort.split("-");
  const value = COLUMNS[name]?.[2];
  if (!value) return rows;
  const sign = way === "down" ? -1 : 1;
  return rows.map((row) => [value(row) ?? null, row]).sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  }).map(([, row]) => row);
}

function heading(name, goal) {
  const [text, how, by, , good, kind = ""] = COLUMNS[name];
  const value = good || goal ? by : null; // numbers of different metrics have no order
  const best = good || (goal === "max" ? -1 : 1);
  const [now, way] = state.sort.split("-");
  const next = now === name ? (way === "down" ? "up" : "down") : best < 0 ? "down" : "up";
  const label = name === "result" && goal ? `${text} ${goal === "max" ? "↑" : "↓"}` : text;
  const sort = now === name ? (way === "down" ? "descending" : "ascending") : value ? "none" : null;
  const inside = value ? make("button", { type: "button", title: how, "data-sort": name,
    on: { click: () => { set({ sort: `${name}-${next}` }); document.querySelector(`[data-sort=${name}]`)?.focus(); } } },
  label) : label;
  return make("th", { scope: "col", "aria-sort": sort, class: kind.includes("number") ? "number" : null }, inside);
}

/** Return the command that ranks the chosen models among themselves; it knows no other filter. */
function again(board) {
  const models = list(state.models).join(",");
  const options = [models && `--models ${models}`, state.seeds !== "0" && `--min-seeds ${state.seeds}`];
  return ["longwave board", board?.task, ...(options.some(Boolean) ? options : ["--models A,B"])].filter(Boolean).join(" ");
}

function drawRows(pool, board) {
  const found = sorted(pool.filter(matches));
  const start = Math.min(Number(state.page) || 0, Math.max(0, Math.ceil(found.length / STEP) - 1)) * STEP;
  const names = columns().filter((name) => name in COLUMNS);
  const lines = found.slice(start, start + STEP).map((row) => make("tr", {
    id: `row-${row.key}`, class: [row.kind, row.leads ? "leads" : ""].join(" "),
  }, names.map((name) => make(name === "model" ? "th" : "td", { class: COLUMNS[name][5], scope: name === "model" ? "row"
    : null }, COLUMNS[name][3](row)))));
  show(make("thead", {}, make("tr", {}, names.map((name) => heading(name, board?.goal)))), lines, found.length, start);
  const ranked = found.filter((row) => row.rank_low !== null).length;
  const all = pool.filter((row) => row.rank_low !== null).length;
  $("pool").replaceChildren(`${count(found.length)} of ${count(pool.length)} rows. `,
    ranked < all ? make("span", {}, make("b", {}, `Ranks and ties are those of the whole pool of ${count(all)} ranked rows, not of the `
      + `${count(ranked)} shown. `), " Ranked anew: ", make("code", {}, again(board))) : "");
  $("caption").textContent = EDITION.ranked;
}

function drawOverview() {
  const { boards, lines } = EDITION.overview;
  const models = list(state.models);
  const found = lines.filter((line) => (!models.length || models.includes(line.model))
    && list(state.q.toLowerCase()).every((word) => `${line.title} ${line.model} ${line.family}`.toLowerCase().includes(word)));
  const head = make("thead", {}, make("tr", {}, ["Model", "Score [95 %]", "Mean rank"].map((text) => make("th", { scope:
    "col" }, text)), boards.map((k) => make("th", { scope: "col" }, make("a", { href: link({ view: EDITION.boards[k].name }),
    title: `${measured(EDITION.boards[k])}, ${arrow(EDITION.boards[k])}` }, EDITION.boards[k].name), make("span", { class:
    "small" }, `${measured(EDITION.boards[k])} ${EDITION.boards[k].goal === "max" ? "↑" : "↓"}`)))));
  const rows = found.map((line) => make("tr", {}, make("th", { scope: "row" }, dot(line.family), line.title),
    make("td", { class: "nowrap" }, line.rank === "—" ? `— (${line.ran} of ${boards.length} tasks)` : line.score),
    make("td", { class: "nowrap" }, line.rank),
    line.cells.map((cell) => {
      const row = byKey.get(cell.key);
      return row ? make("td", { class: `nowrap cell ${row.leads ? "leads" : ""}` }, make("a", { href: link({ row: row.key }) },
        result(row))) : make("td", {}, stateWord(cell.state));
    })));
  show(head, rows, found.length, 0);
  $("pool").replaceChildren(found.length < lines.length ? make("b", {}, "Scores and ranks are those of the whole pool of "
    + `${count(lines.length)} models, not of the ${count(found.length)} shown.`) : `${count(lines.length)} models.`);
  $("caption").textContent = EDITION.overall;
}

function show(head, lines, total, start) {
  $("table").replaceChildren(head, make("tbody", {}, lines));
  $("table").parentElement.hidden = !lines.length;
  $("empty").hidden = lines.length > 0;
  $("empty").textContent = EDITION.rows.length ? "No row fits these filters. Reset shows all."
    : "This edition has no rows. Run a sweep with: longwave sweep run FILE";
  $("pager").hidden = total <= STEP;
  $("range").textContent = `${count(start + 1)} to ${count(Math.min(start + STEP, total))} of ${count(total)}`;
  $("back").disabled = start === 0;
  $("next").disabled = start + STEP >= total;
  $("back").onclick = () => set({ page: String(start / STEP - 1) });
  $("next").onclick = () => set({ page: String(start / STEP + 1) });
}

const facts = (pairs) => make("dl", {}, pairs.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
const cells = (values) => make("tr", {}, values.map((value) => make("td", {}, value)));
const small = (head, rows) => make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {},
  head.map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, rows)));
const number = (value) => (value === null ? "—" : String(Number(value.toPrecision(6))));

function drawRow(row) {
  const board = boardOf(row);
  const ranked = row.rank_low === null ? "not ranked" : `rank ${row.rank}, tie group ${row.ties || "—"}`;
  const found = [
    make("p", {}, make("a", { href: link({ row: "" }) }, "← Back to the table")),
    make("h2", { id: "row-title", tabindex: "-1" }, dot(row.family), `${row.title} on ${board.name}`),
    make("p", {}, `${measured(board)}, ${arrow(board)}: `, result(row), row.interval ? `, 95 % interval ${row.interval}` : "",
      `; ${row.kind === "reproduced" ? ranked : `${KINDS[row.kind]}, not ranked`}.`),
  ];
  if (row.command) found.push(make("p", {}, commandOf(row)));
  if (row.seeds.length) {
    found.push(make("h3", {}, "Retrainings"), small(["seed", "ended", `test ${measured(board)}`, "validation", "best epoch",
      "epochs", "time", "trial"], row.seeds.map((s) => cells([String(s.seed), make("span", {}, stateWord(s.status === "planned"
      || s.status === "running" ? "missing" : s.status), s.reason ? make("span", { class: "small" }, s.reason) : ""),
    number(s.test), number(s.valid), s.best_epoch ?? "—", s.epochs ?? "—", duration(s.seconds), make("code", {}, s.trial)]))));
  }
  if (row.published.length) {
    found.push(make("h3", {}, "Published numbers"), ...row.published.map((p) => make("div", {},
      make("p", {}, make("em", {}, p.text), p.judged ? make("span", {}, " — ", p.judged) : ""),
      make("ul", {}, p.sources.map((source) => make("li", {}, source))), p.note ? make("p", { class: "small" }, p.note) : "")));
  }
  if (row.kind === "reproduced") {
    const plain = (values) => Object.entries(values).map(([name, v]) => [name, typeof v === "object" ? JSON.stringify(v) : short(v)]);
    found.push(make("div", { class: "two" },
      make("div", {}, make("h3", {}, "Configuration and protocol"), facts([["row", make("code", {}, row.key)],
        ...plain(row.settings), ["hidden", count(row.hidden)], ["parameters", count(row.parameters)], ...plain(row.protocol),
        ["differs from the recipe", row.departures.join("; ") || "in nothing"]])),
      make("div", {}, make("h3", {}, "Provenance"), facts([["sweeps", row.sweeps.join(", ") || "—"], ["searched",
        `${count(row.searched)} trials, ${count(row.search_diverged)} diverged`], ["time to find", duration(row.find_seconds)],
      ["time to train", duration(row.train_seconds)], ...Object.entries(row.facts)]))));
  }
  $("row-part").replaceChildren(...found);
}

function drawControls() {
  $("view").value = state.view;
  const overview = place() < 0 && state.view !== "all rows";
  for (const part of document.querySelectorAll("[data-rows]")) part.hidden = overview;
  if ($("search").value !== state.q) $("search").value = state.q;
  $("provisional").checked = state.prov === "1";
  if (document.activeElement !== $("seeds")) $("seeds").value = state.seeds;
  const models = list(state.models);
  $("models-count").textContent = models.length ? ` (${models.length})` : "";
  for (const box of $("models").querySelectorAll("[value]")) box.checked = models.includes(box.value);
  for (const box of $("models").querySelectorAll("[data-family]")) {
    const mine = [...titles.keys()].filter((name) => titles.get(name).family === box.dataset.family);
    box.checked = mine.every((name) => models.includes(name));
    box.indeterminate = !box.checked && mine.some((name) => models.includes(name));
  }
  const kinds = list(state.kinds);
  for (const box of $("kinds").querySelectorAll("input")) box.checked = !kinds.length || kinds.includes(box.value);
  for (const box of $("columns").querySelectorAll("input")) box.checked = columns().includes(box.value);
}

let shownRow = "";

function draw() {
  read();
  const row = byKey.get(state.row);
  const board = EDITION.boards[place()];
  drawControls();
  $("row-part").hidden = !row;
  $("table-part").hidden = $("filters").hidden = Boolean(row);
  if (row) drawRow(row);
  else if (board) drawRows(EDITION.rows.filter((one) => one.board === place()), board);
  else if (state.view === "all rows") drawRows(EDITION.rows, null);
  else drawOverview();
  $("heading").textContent = board ? `${board.name}: ${measured(board)}, ${arrow(board)}`
    : state.view === "all rows" ? "All rows of all boards" : `All tasks: ${EDITION.overview.boards.length} boards`;
  document.title = `${row ? `${row.title} on ${boardOf(row).name}` : board ? board.name : EDITION.title} · ${EDITION.id}`;
  if (row && shownRow !== row.key) { scrollTo(0, 0); $("row-title").focus({ preventScroll: true }); }
  shownRow = row ? row.key : "";
}

function toggled(name, all, value, on) {
  const now = list(state[name]);
  const next = (now.length ? now : all).filter((one) => one !== value).concat(on ? [value] : []);
  return all.filter((one) => next.includes(one)).join(" ") || "none";
}

function box(text, attributes, act) {
  const input = make("input", { type: "checkbox", ...attributes, on: { change: (event) => act(event.target) } });
  return make("label", {}, input, " ", ...[text].flat());
}

function build() {
  $("view").append(make("option", { value: "" }, "All tasks: overview"), make("option", { value: "all rows" }, "All rows"),
    make("optgroup", { label: "Boards" }, EDITION.boards.map((board) => make("option", { value: board.name }, board.name))));
  $("view").onchange = (event) => { location.hash = link({ view: event.target.value, page: "0", sort: "", row: "" }); };
  $("search").oninput = (event) => set({ q: event.target.value });
  $("provisional").onchange = (event) => set({ prov: event.target.checked ? "1" : "0" });
  $("seeds").oninput = (event) => set({ seeds: event.target.value || "0" });
  $("reset").onclick = () => set({ ...FRESH, view: state.view });
  const every = [...titles.keys()].sort();
  const choose = (names, on) => set({ models: every.filter((name) => (names.includes(name) ? on
    : list(state.models).includes(name))).join(" ") });
  for (const family of families) {
    const mine = every.filter((name) => titles.get(name).family === family);
    $("models").append(make("div", { class: "family" }, box([dot(family), family], { "data-family": family },
      (input) => choose(mine, input.checked))), make("div", {}, mine.map((name) => box(titles.get(name).title.split(" (")[0],
      { value: name }, (input) => choose([name], input.checked)))));
  }
  $("kinds").append(...Object.entries(KINDS).map(([kind, text]) => box(text, { value: kind },
    (input) => set({ kinds: toggled("kinds", Object.keys(KINDS), kind, input.checked) }))));
  $("columns").append(...Object.entries(COLUMNS).map(([name, [text]]) => box(text, { value: name }, (input) => set({
    cols: Object.keys(COLUMNS).filter((one) => (one === name ? input.checked : columns().includes(one))).join(" ") }))));
  $("how").append(...Object.values(COLUMNS).flatMap(([text, how]) => [make("dt", {}, text), make("dd", {}, how)]),
    make("dt", {}, "Without a number"), make("dd", {}, "“diverged”: every retraining met a loss that is not finite; “failed”:"
    + " an error ended it; “missing”: asked for and not ended; “not run”: nobody asked for it. None of them is a zero."));
  const { counts } = EDITION;
  $("about").textContent = `${count(counts.reproduced)} rows reproduced from ${count(counts.retrainings)} retrainings, `
    + `${count(counts.published)} published and ${count(counts.trivial)} trivial ones, on ${count(counts.boards)} boards.`;
  $("foot").append("Edition ", make("code", {}, EDITION.id), `, ${EDITION.created.slice(0, 10)}, written by commit `,
    make("code", {}, EDITION.commit.slice(0, 12)), `. It never changes; its name is a hash of its rows.`);
}

function buildChanges() {
  const { changes, previous } = EDITION;
  if (!previous) return $("changes").append(make("p", {}, "This is the first edition."));
  $("changes").append(make("p", {}, `Since edition ${previous}: ${changes.length || "no"} changes.`),
    changes.length ? make("p", { class: "caption" }, EDITION.reasons) : "");
  const places = new Map();
  for (const change of changes) {
    const name = `${change.task} ${change.variant}`.trim();
    places.set(name, [...(places.get(name) ?? []), change]);
  }
  for (const [name, some] of places) {
    $("changes").append(make("details", { open: places.size < 4 }, make("summary", {}, `${name} (${some.length})`), make("ul",
      {}, some.map((c) => make("li", {}, byKey.has(c.key) ? make("a", { href: link({ row: c.key }) }, c.title) : c.title,
        ` ${c.kind === "reproduced" ? "" : `(${c.kind}) `}${[c.before, c.after].filter(Boolean).join(" → ")}: `,
        c.reasons.join("; "))))));
  }
}

function buildTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try { chosen = localStorage.getItem("longwave-theme"); } catch { /* a browser may forbid it for files */ }
  const apply = () => {
    root.dataset.theme = chosen || (dark.matches ? "dark" : "light");
    $("theme").textContent = root.dataset.theme === "dark" ? "Light" : "Dark";
  };
  $("theme").onclick = () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("longwave-theme", chosen); } catch { /* as above */ }
    apply();
  };
  dark.addEventListener("change", apply);
  apply();
}

buildTheme();
build();
draw();
buildChanges();
addEventListener("hashchange", draw);
addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
