// The tables of the page: the rows of a board, and the overview of all.
function searchText(row) {
  row.text_of_all ??= [row.texts.title, row.model, row.family, settingsOf(row), row.key, boardOf(row).name, boardOf(row).title, row.state, row.superseded,
    ...["diverged", "failed", "missing"].filter((name) => row[name]), ...row.departures, ...row.known, row.verification,
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
  return make("th", { scope: "col", "aria-sort": sort, "data-column": name, class: align === "right" ? "number" : null }, inside);
}

/** The groups below the ranked rows, folded until they are opened, searched or selected by a filter. */
const GROUPS = {
  published: ["Published numbers that nobody retrained here", (row) => row.kind === "published"],
  trivial: ["Trivial predictors", (row) => row.kind === "trivial"],
  untrusted: ["Untrusted: imported, and without a rank", (row) => row.untrusted && !row.superseded],
  superseded: ["Superseded: by a newer version, or a search that went on", (row) => Boolean(row.superseded)],
};
const groupOf = (row) => Object.keys(GROUPS).find((name) => GROUPS[name][1](row)) ?? "";
const allOpen = () => Boolean(state.q || state.kinds || state.sort.startsWith("published"));
const isOpen = (name) => allOpen() || state.open === "all" || list(state.open).includes(name);

function rowLine(row, names) {
  return make("tr", { id: `row-${row.key}`, class: [row.kind, row.leads ? "leads" : "", row.faint ? "faint" : "",
    isChosen(row) ? "chosen" : ""].filter(Boolean).join(" ") },
  names.map((name) => make(name === "title" ? "th" : "td", { class: COLUMNS.get(name).align === "right" ? "number" : null,
    "data-column": name, scope: name === "title" ? "row" : null }, COLUMNS.get(name).cell(row))));
}

const across = (kind, width, ...content) => make("tr", { class: kind }, make("td", { colspan: width }, ...content));

/** Return a line that folds and unfolds a group of rows or columns. */
function foldLine(name, text, open, width) {
  const next = open ? list(state.open).filter((one) => one !== name) : [...list(state.open), name];
  const act = () => { set({ page: state.page, open: next.join(" ") }); document.querySelector(`[data-group=${name}]`)?.focus(); };
  return across("group", width, make("button", { type: "button", class: "link", "data-group": name, "aria-expanded": String(open),
    on: { click: act } }, `${open ? "▾" : "▸"} ${text}`));
}

const groupLine = (name, rows, width) => (allOpen() ? across("group", width, `${GROUPS[name][0]} (${rows.length})`)
  : foldLine(name, `${GROUPS[name][0]} (${rows.length})`, isOpen(name), width));

/** Return the line with the score of the best trivial predictor; rows below it are worse. */
function trivialLine(all, width, before) {
  const best = all.find((row) => row.kind === "trivial");
  return best ? across("limit", width, `${before ? "Medians below are" : "No median above is"} worse than the best trivial predictor, `,
    make("a", { href: link({ row: best.key }) }, best.title), `, ${best.texts.mean.replace(" (trivial)", "")}`) : null;
}

/** Return the lines of retrained rows and, if they are in the board's order, that of the best trivial predictor. */
function ownLines(rows, all, names, last) {
  const lines = rows.map((row) => rowLine(row, names));
  const ranked = rows.filter((row) => row.rank_low !== null);
  if (state.sort || !ranked.length || new Set(all.map((row) => row.board)).size > 1) return lines;
  const worse = rows.findIndex((row) => row.lost);
  if (worse >= 0) lines.splice(worse, 0, trivialLine(all, names.length, true));
  else if (last) lines.splice(ranked.length, 0, trivialLine(all, names.length, false));
  return lines.filter(Boolean);
}

/** Return the baselines that are hidden by filters or are on another page. */
function hiddenBaselines(all, shown) {
  const there = new Set(shown.map((row) => row.board + row.model));
  return all.filter((row) => isBaseline(row) && !there.has(row.board + row.model));
}

function drawRows(all, board) {
  const found = all.filter(inSight);
  const own = sorted(found.filter((row) => !groupOf(row)));
  const start = Math.min(Number(state.page) || 0, Math.max(0, Math.ceil(own.length / STEP) - 1)) * STEP;
  const names = columns().filter((name) => COLUMNS.has(name));
  const shown = own.slice(start, start + STEP);
  const lines = ownLines(shown, all, names, start + STEP >= own.length);
  const beside = board && !state.only ? hiddenBaselines(all, shown) : [];
  if (beside.length) lines.push(across("group", names.length, "Baselines, whatever the filters"), ...beside.map((row) => rowLine(row, names)));
  const others = Object.keys(GROUPS).map((name) => [name, sorted(found.filter((row) => groupOf(row) === name))]);
  for (const [name, rows] of others) if (rows.length) {
    lines.push(groupLine(name, rows, names.length), ...(isOpen(name) ? rows.map((row) => rowLine(row, names)) : []));
  }
  onScreen = { names, rows: [...shown, ...beside, ...others.flatMap(([name, rows]) => (isOpen(name) ? rows : []))] };
  show(make("thead", {}, make("tr", {}, names.map((name) => heading(name, board?.goal)))), lines, own.length, start);
  const ranked = (rows) => rows.filter((row) => row.rank_low !== null);
  const [before, left] = [ranked(all), ranked(found)];
  $("shown").replaceChildren(`${count(found.length)} of ${count(all.length)} rows. `, left.length === before.length ? ""
    : unranked(`${count(before.length - left.length)} of ${many(before.length, "ranked row")} hidden; ranks and ties are still those of `
      + `${board ? "the whole board" : "whole boards"}.`, before, left, board ? board.task : "--rows", leastSeeds()));
  $("caption").replaceChildren([board?.advice, EDITION.ranked].filter(Boolean).join(" "), " ", methodsLink());
  $("table").setAttribute("class", state.cols ? "all" : "usual");
}

/** Draw the number of selected rows and the actions on them. */
function drawSelected() {
  const chosen = EDITION.rows.filter(isChosen);
  const names = chosen.map((row) => row.key.slice(0, SHORT));
  const command = `longwave compare ${names.join(" ")}`;
  $("selected").hidden = !chosen.length;
  $("selected").replaceChildren(`${many(chosen.length, "row")} selected. `,
    make("button", { type: "button", on: { click: () => set({ only: state.only ? "" : "1" }) } }, state.only ? "Show all" : "Show only these"), " ",
    make("button", { type: "button", on: { click: () => set({ sel: "", only: "" }) } }, "Clear"),
    ...(chosen.length === 2 ? [" Compared by: ", make("code", {}, command), copyButton(command)] : []));
}

/** Return a figure of a board, or one view of it. Its file is loaded when it becomes visible. */
function drawFigure(figure, view = "") {
  // A panel of a figure has the figure's own width and height, so its class sets its shape.
  const size = view ? { class: "panel" } : { width: figure.width, height: figure.height };
  return make("figure", {}, make("figcaption", {}, make("strong", {}, figure.title), ". ", figure.note, " ",
    make("a", { href: figure.file }, "SVG")), make("img", { src: figure.file + (view && `#${view}`), alt: `${figure.title}. ${figure.note}`,
    loading: "lazy", decoding: "async", ...size }));
}

/** Return a note that filters hide rows among which ranks were computed, and the command that ranks the others. */
function unranked(said, before, left, where = "", seeds = 0) {
  const [all, models] = [before, left].map((some) => [...new Set(some.map(({ model }) => model))].sort());
  const options = [models.length < all.length && `--models ${models.join(",")}`, seeds && `--min-seeds ${seeds}`].filter(Boolean);
  const command = ["longwave board", where, ...options].filter(Boolean).join(" ");
  return make("span", {}, make("b", {}, said), options.length && models.length
    ? [" Ranked alone by: ", make("code", {}, command), copyButton(command)] : "");
}

function drawOverview() {
  const lines = EDITION.overviews.flatMap((one) => one.lines);
  onScreen = { names: [], rows: [] };
  $("table").setAttribute("class", "overview");
  const parts = EDITION.overviews.map(({ boards, shown, saturated, lines: some }) => ({ boards, shown, saturated,
    found: some.filter((line) => chosenModel(line.model) && holds(`${line.title} ${line.model} ${line.family}`)) })).filter((one) => one.found.length);
  const found = parts.flatMap((one) => one.found);
  const [first, ...rest] = parts.map(overviewPart);
  $("answers").replaceChildren(...EDITION.boards.flatMap((board) => [make("dt", {}, make("a", { href: link({ view: board.name }) },
    board.title)), make("dd", {}, board.answer)]));
  show(make("thead", {}, first?.[0]), [...(first ?? []).slice(1), ...rest.flat()], found.length, 0);
  const all = many(lines.length, "model");
  $("shown").replaceChildren(found.length === lines.length ? `${all}.` : unranked(
    `${count(lines.length - found.length)} of ${all} hidden; scores and ranks are still those among all.`,
    lines, found));
  $("caption").replaceChildren([EDITION.printed, EDITION.overall].filter(Boolean).join(" "), " ", methodsLink());
}

/** Return the lines of boards that share models. Saturated ones are folded unless all are saturated. */
function overviewPart({ boards, shown, saturated, found }) {
  const open = !shown || state.open === "all" || list(state.open).includes("saturated");
  const width = open ? boards.length : shown;
  const fold = saturated && shown ? [foldLine("saturated", saturated, open, width + 3)] : [];
  return [overviewHead(boards.slice(0, width)), ...found.map((line) => overviewLine(line, width)), ...fold];
}

/** Return the heading of boards that share models; boards with other models have their own headings below. */
function overviewHead(boards) {
  return make("tr", {}, ["Model", "Score", "Mean rank", ...boards.map(boardLink)].map((text) => make("th", { scope: "col" }, text)));
}

function overviewLine(line, width) {
  return make("tr", {}, make("th", { scope: "row" }, make("span", { class: "head" }, dot(line.family), make("span", { class: "name", title: line.title }, line.title))),
    make("td", { class: "nowrap" }, line.score), make("td", { class: "nowrap" }, line.rank), line.cells.slice(0, width).map(overviewCell));
}

function boardLink(place) {
  const board = EDITION.boards[place];
  const hint = `${measured(board)}, ${arrow(board)}`;
  return [make("a", { href: link({ view: board.name }), title: hint }, board.title),
    make("span", { class: "small" }, `${board.word === "separates" ? "" : `${board.word}, `}${measured(board)} ${board.goal === "max" ? "↑" : "↓"}`)];
}

function overviewCell(key) {
  const row = byKey.get(key);
  if (!row) return make("td", {}, stateWord("not run"));
  return make("td", { class: `nowrap cell ${row.leads ? "leads" : row.faint ? "faint" : ""}` }, make("a", { href: link({ row: key }) }, row.asked ? row.texts.median : stateWord(row.state)));
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
