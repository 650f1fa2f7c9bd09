// The three parts of the page: the rows of a board, the overview of all, one row with its seeds.
function searchText(row) {
  row.text_of_all ??= [row.title, row.model, row.family, settingsOf(row), row.key, boardOf(row).name, row.state, row.superseded,
    ...["diverged", "failed", "missing"].filter((name) => row[name]), ...row.departures, row.verification,
    ...row.published.flatMap((p) => [p.text, p.verdict])].join(" ");
  return row.text_of_all;
}

function sorted(rows) {
  const [name, way] = state.sort.split("-");
  const value = COLUMNS.get(name)?.by;
  if (!value) return rows;
  const sign = way === "down" ? -1 : 1;
  return rows.map((row) => [value(row) ?? null, row]).sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  }).map(([, row]) => row);
}

function heading(name, goal) {
  const { heading: text, meaning: how, by, by_goal: metric, align } = COLUMNS.get(name);
  const value = metric && !goal ? null : by; // numbers of different metrics have no order
  const best = metric && goal === "max" ? -1 : 1;
  const [now, way] = state.sort.split("-");
  const next = now === name ? (way === "down" ? "up" : "down") : best < 0 ? "down" : "up";
  const label = name === "mean" && goal ? `${text} ${goal === "max" ? "↑" : "↓"}` : text;
  const sort = now === name ? (way === "down" ? "descending" : "ascending") : value ? "none" : null;
  const inside = value ? make("button", { type: "button", title: how, "data-sort": name,
    on: { click: () => { set({ sort: `${name}-${next}` }); document.querySelector(`[data-sort=${name}]`)?.focus(); } } },
  label) : label;
  return make("th", { scope: "col", "aria-sort": sort, class: align === "right" ? "number" : null }, inside);
}

function drawRows(all, board) {
  const found = sorted(all.filter(inSight));
  const start = Math.min(Number(state.page) || 0, Math.max(0, Math.ceil(found.length / STEP) - 1)) * STEP;
  const names = columns().filter((name) => COLUMNS.has(name));
  const lines = found.slice(start, start + STEP).map((row) => make("tr", {
    id: `row-${row.key}`, class: [row.kind, row.leads ? "leads" : ""].join(" "),
  }, names.map((name) => make(name === "title" ? "th" : "td", { class: COLUMNS.get(name).align === "right" ? "number" : null,
    "data-column": name, scope: name === "title" ? "row" : null }, COLUMNS.get(name).cell(row)))));
  show(make("thead", {}, make("tr", {}, names.map((name) => heading(name, board?.goal)))), lines, found.length, start);
  const ranked = (rows) => rows.filter((row) => row.rank_low !== null);
  const [before, left] = [ranked(all), ranked(found)];
  $("shown").replaceChildren(`${count(found.length)} of ${count(all.length)} rows. `, left.length === before.length ? ""
    : unranked(`${count(before.length - left.length)} of ${many(before.length, "ranked row")} hidden; ranks and ties are still those of `
      + `${board ? "the whole board" : "whole boards"}.`, before, left, board ? board.task : "--rows", leastSeeds()));
  $("caption").replaceChildren([board?.advice, EDITION.ranked].filter(Boolean).join(" "), " ", methodsLink());
}

/** Say that filters hide what numbers were computed among, and the command that computes them among what is left. */
function unranked(said, before, left, where = "", seeds = 0) {
  const [all, models] = [before, left].map((some) => [...new Set(some.map(({ model }) => model))].sort());
  const options = [models.length < all.length && `--models ${models.join(",")}`, seeds && `--min-seeds ${seeds}`].filter(Boolean);
  const command = ["longwave board", where, ...options].filter(Boolean).join(" ");
  return make("span", {}, make("b", {}, said), options.length && models.length
    ? [" Ranked alone by: ", make("code", {}, command), copyButton(command)] : "");
}

function drawOverview() {
  const { boards, lines } = EDITION.overview;
  const found = lines.filter((line) => chosenModel(line.model) && holds(`${line.title} ${line.model} ${line.family}`));
  const head = ["Model", "Score", "Mean rank", ...boards.map(boardLink)].map((text) => make("th", { scope: "col" }, text));
  const rows = found.map((line) => make("tr", {}, make("th", { scope: "row" }, dot(line.family), line.title),
    make("td", { class: "nowrap" }, line.score), make("td", { class: "nowrap" }, line.rank), line.cells.map(overviewCell)));
  show(make("thead", {}, make("tr", {}, head)), rows, found.length, 0);
  const all = many(lines.length, "model");
  $("shown").replaceChildren(found.length === lines.length ? `${all}.` : unranked(
    `${count(lines.length - found.length)} of ${all} hidden; scores and ranks are still those among all.`,
    lines, found));
  $("caption").replaceChildren(EDITION.overall, " ", methodsLink());
}

function boardLink(place) {
  const board = EDITION.boards[place];
  const hint = `${measured(board)}, ${arrow(board)}`;
  return [make("a", { href: link({ view: board.name }), title: hint }, board.name),
    make("span", { class: "small" }, `${measured(board)} ${board.goal === "max" ? "↑" : "↓"}`)];
}

function overviewCell(key) {
  const row = byKey.get(key);
  if (!row) return make("td", {}, stateWord("not run"));
  return make("td", { class: `nowrap cell ${row.leads ? "leads" : ""}` }, make("a", { href: link({ row: key }) }, row.asked ? row.texts.median : stateWord(row.state)));
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

const FIRST = ["rank_low", "ties", "median", "share", "mean", "low", "n"];
const items = (texts) => (texts.length ? make("ul", {}, texts.map((text) => make("li", {}, text))) : "");

/** Return a published number, and how the row stands to it. */
function drawNumber(number) {
  const told = [["verdict", number.verdict && verdictWord(number)], ["why", number.why], ["another protocol", items(number.departures)],
    ["sources", items(number.sources)], ["note", number.note]];
  return make("div", { class: "printed" }, make("p", {}, make("em", {}, number.text)), facts(told.filter(([, value]) => value)));
}

function drawRow(row) {
  const board = boardOf(row);
  const told = FIRST.filter((name) => COLUMNS.has(name) && row.texts[name] !== "—").map((name) => COLUMNS.get(name));
  const found = [
    make("p", {}, make("a", { href: link({ row: "" }) }, "← Back to the table")),
    make("h2", { id: "row-title", tabindex: "-1" }, dot(row.family), `${row.title} on ${board.name}`),
    make("p", {}, `${measured(board)}, ${arrow(board)}; ${KINDS[row.kind]}${row.rank_low === null ? ", not ranked" : ""}. `, methodsLink()),
    facts(told.map(({ heading: name, cell }) => [name, cell(row)])),
  ];
  if (row.lost) found.push(lost(row));
  if (row.superseded) found.push(make("p", { class: "doubt" }, `Superseded: ${row.superseded}.`));
  if (row.command) found.push(make("p", {}, commandOf(row)));
  if (row.seeds.length) {
    found.push(make("h3", {}, "Retrainings"), small(["seed", "ended", `test ${measured(board)}`, "validation", "best epoch",
      "epochs", "time", "trial"], row.seeds.map((s) => cells([String(s.seed), make("span", {}, stateWord(s.status === "planned"
      || s.status === "running" ? "missing" : s.status), s.reason ? make("span", { class: "small" }, s.reason) : ""),
    number(s.test), number(s.valid), s.best_epoch ?? "—", s.epochs ?? "—", s.time, make("code", {}, s.trial)]))));
  }
  if (row.published.length) {
    found.push(make("h3", {}, "Published numbers"), ...row.published.map(drawNumber));
  }
  if (row.kind === "reproduced") {
    const named = (values) => Object.entries(values).map(([name, v]) => [name, typeof v === "object" ? JSON.stringify(v) : short(v)]);
    found.push(make("div", { class: "two" },
      make("div", {}, make("h3", {}, "Configuration and protocol"), facts([["row", make("code", {}, row.key)],
        ...named(row.settings), ["hidden", count(row.hidden)], ["parameters", count(row.parameters)], ...named(row.protocol),
        ["recipe", row.texts.departures]])),
      make("div", {}, make("h3", {}, "Provenance"), facts([["verified", row.verification],
        ["sweeps", row.sweeps.join(", ") || "—"], ["searched",
        `${count(row.searched)} trials, ${count(row.search_diverged)} diverged`], ["time to find", row.texts.find_seconds],
      ["time to train", row.texts.train_seconds], ...Object.entries(row.facts)]))));
  }
  $("row-part").replaceChildren(...found);
}
