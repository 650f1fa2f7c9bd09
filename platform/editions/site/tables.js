// The three parts of the page: the rows of a board, the overview of all, one row with its seeds.
function searchText(row) {
  row.text_of_all ??= [row.title, row.model, row.family, settingsOf(row), row.key, boardOf(row).name, row.state, row.superseded,
    ...["diverged", "failed", "missing"].filter((name) => row[name]), ...row.departures, row.verification,
    ...row.published.flatMap((p) => [p.text, p.verdict])].join(" ").toLowerCase();
  return row.text_of_all;
}

function matches(row) {
  const kinds = list(state.kinds);
  return inPool(row) && (!kinds.length || kinds.includes(row.kind))
    && list(state.q.toLowerCase()).every((word) => searchText(row).includes(word));
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

function drawRows(pool, board) {
  const found = sorted(pool.filter(matches));
  const start = Math.min(Number(state.page) || 0, Math.max(0, Math.ceil(found.length / STEP) - 1)) * STEP;
  const names = columns().filter((name) => COLUMNS.has(name));
  const lines = found.slice(start, start + STEP).map((row) => make("tr", {
    id: `row-${row.key}`, class: [row.kind, leads(standing(row)) ? "leads" : ""].join(" "),
  }, names.map((name) => make(name === "title" ? "th" : "td", { class: COLUMNS.get(name).align === "right" ? "number" : null,
    "data-column": name, scope: name === "title" ? "row" : null }, COLUMNS.get(name).cell(row)))));
  show(make("thead", {}, make("tr", {}, names.map((name) => heading(name, board?.goal)))), lines, found.length, start);
  const ranked = (rows, place) => rows.filter((row) => place(row).rank_low !== null).length;
  const [all, chosen, seen] = [ranked(pool, (row) => row), ranked(pool, standing), ranked(found, standing)];
  const command = ["longwave board", board ? board.task : "--rows", poolOptions()].join(" ");
  $("pool").replaceChildren(`${count(found.length)} of ${count(pool.length)} rows. `,
    poolOptions() ? make("span", {}, make("b", {}, `Ranked anew among ${count(chosen)} of ${count(all)} rows`), ", as ",
      make("code", {}, command), " does. ") : "",
    seen < chosen ? `${count(seen)} of the ${count(chosen)} ranked rows are shown.` : "");
  $("caption").textContent = EDITION.ranked;
}

function drawOverview() {
  const { boards, lines } = overall();
  const pool = poolOptions();
  const found = lines.filter((line) => list(state.q.toLowerCase())
    .every((word) => `${line.title} ${line.model} ${line.family}`.toLowerCase().includes(word)));
  const head = ["Model", pool ? "Score" : "Score [95 %]", "Mean rank", ...boards.map(boardLink)]
    .map((text) => make("th", { scope: "col" }, text));
  const rows = found.map((line) => make("tr", {}, make("th", { scope: "row" }, dot(line.family), line.title),
    make("td", { class: "nowrap" }, line.rank ? estimate(line.score) : `— (${line.ran} of ${boards.length} tasks)`),
    make("td", { class: "nowrap" }, estimate(line.rank, 1)), line.cells.map(overviewCell)));
  show(make("thead", {}, make("tr", {}, head)), rows, found.length, 0);
  const all = many(EDITION.overview.lines.length, "model");
  const again = make("span", {}, make("b", {}, `Computed anew among ${count(lines.length)} of ${all}`), ", as ",
    make("code", {}, `longwave board ${pool}`), " does, which also gives the scores’ intervals. ");
  $("pool").replaceChildren(pool ? again : `${all}. `,
    found.length < lines.length ? `${count(found.length)} of the ${count(lines.length)} are shown.` : "");
  $("figure-title").textContent = `Which models are told apart across tasks${pool ? ", among all models" : ""}`;
  $("caption").textContent = EDITION.overall;
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
  const best = leads(standing(row)) ? "leads" : "";
  return make("td", { class: `nowrap cell ${best}` }, make("a", { href: link({ row: key }) }, result(row)));
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
  const place = standing(row);
  const among = poolOptions() ? " among the rows chosen" : "";
  const ranked = place.rank_low === null ? `not ranked${among}` : `rank ${span(place)}, tie group ${place.ties}${among}`;
  const found = [
    make("p", {}, make("a", { href: link({ row: "" }) }, "← Back to the table")),
    make("h2", { id: "row-title", tabindex: "-1" }, dot(row.family), `${row.title} on ${board.name}`),
    make("p", {}, `${measured(board)}, ${arrow(board)}: `, result(row), row.texts.low === "—" ? "" : `, 95 % interval ${row.texts.low}`,
      `; ${row.kind === "reproduced" ? ranked : `${KINDS[row.kind]}, not ranked`}.`),
  ];
  if (row.superseded) found.push(make("p", { class: "doubt" }, `Superseded: ${row.superseded}.`));
  if (row.command) found.push(make("p", {}, commandOf(row)));
  if (row.seeds.length) {
    found.push(make("h3", {}, "Retrainings"), small(["seed", "ended", `test ${measured(board)}`, "validation", "best epoch",
      "epochs", "time", "trial"], row.seeds.map((s) => cells([String(s.seed), make("span", {}, stateWord(s.status === "planned"
      || s.status === "running" ? "missing" : s.status), s.reason ? make("span", { class: "small" }, s.reason) : ""),
    number(s.test), number(s.valid), s.best_epoch ?? "—", s.epochs ?? "—", s.time, make("code", {}, s.trial)]))));
  }
  if (row.published.length) {
    found.push(make("h3", {}, "Published numbers"), ...row.published.map((p) => make("div", {},
      make("p", {}, make("em", {}, p.text), p.judged ? make("span", {}, " — ", p.judged) : ""),
      make("ul", {}, p.sources.map((source) => make("li", {}, source))), p.note ? make("p", { class: "small" }, p.note) : "")));
  }
  if (row.kind === "reproduced") {
    const named = (values) => Object.entries(values).map(([name, v]) => [name, typeof v === "object" ? JSON.stringify(v) : short(v)]);
    found.push(make("div", { class: "two" },
      make("div", {}, make("h3", {}, "Configuration and protocol"), facts([["row", make("code", {}, row.key)],
        ...named(row.settings), ["hidden", count(row.hidden)], ["parameters", count(row.parameters)], ...named(row.protocol),
        ["differs from the recipe", row.departures.join("; ") || "in nothing"]])),
      make("div", {}, make("h3", {}, "Provenance"), facts([["verified", row.verification],
        ["sweeps", row.sweeps.join(", ") || "—"], ["searched",
        `${count(row.searched)} trials, ${count(row.search_diverged)} diverged`], ["time to find", row.texts.find_seconds],
      ["time to train", row.texts.train_seconds], ...Object.entries(row.facts)]))));
  }
  $("row-part").replaceChildren(...found);
}
