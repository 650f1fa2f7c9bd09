// One row: its scores, seeds and curves, and how and where it was trained.
const facts = (pairs) => make("dl", {}, pairs.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
const cells = (values) => make("tr", {}, values.map((value) => make("td", {}, value)));
const small = (head, rows) => make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {},
  head.map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, rows)));
const number = (value) => (value === null ? "—" : String(Number(value.toPrecision(6))));

const FIRST = ["rank_low", "ties", "median", "share", "mean", "low", "n", "parameters", "searched"];
const CHOSEN = ["ways", "search_stopped", "search_whole", "search_score", "optimism", "runner_up", "better", "at_edge"];
const named = ({ heading, meaning }) => make("span", { title: meaning }, heading);
const items = (texts) => (texts.length ? make("ul", {}, texts.map((text) => make("li", {}, text))) : "");

/** Return a published number and its comparison with the row. */
function drawNumber(number) {
  const told = [["verdict", number.verdict && verdictWord(number)], ["why", number.why], ["another protocol", items(number.departures)],
    ["sources", items(number.sources)], ["note", number.note]];
  return make("div", { class: "printed" }, make("p", {}, make("em", {}, number.text)), facts(told.filter(([, value]) => value)));
}

function drawSeeds(row) {
  const head = ["seed", "ended", `test ${measured(boardOf(row))}`, "validation", "best epoch", "epochs", "time", "trial"];
  const ended = (s) => (s.status === "planned" || s.status === "running" ? "missing" : s.status);
  return small(head, row.seeds.map((s) => cells([String(s.seed), make("span", {}, stateWord(ended(s)),
    s.reason ? make("span", { class: "small" }, s.reason) : ""), number(s.test), number(s.valid), s.best_epoch ?? "—",
  s.epochs ?? "—", s.time, make("code", {}, s.trial)])));
}

/** Return the figures of a row: its learning curves, and the medians of its board. */
function drawOwnFigures(row) {
  const found = boardOf(row).figures.map((figure) => (figure.views[row.key] ? drawFigure(figure, figure.views[row.key])
    : figure.file.endsWith("-medians.svg") ? drawFigure(figure) : ""));
  return make("div", { class: "figures" }, found);
}

function drawConfiguration(row) {
  const values = (settings) => Object.entries(settings).map(([name, value]) => [name, short(value)]);
  return make("div", { class: "two" },
    make("div", {}, make("h3", {}, "Configuration and protocol"), facts([["row", make("code", {}, row.key)],
      ...values(row.settings), ["hidden", count(row.hidden)], ["parameters", count(row.parameters)], ...values(row.protocol),
      ["recipe", row.texts.departures]])),
    make("div", {}, make("h3", {}, "Provenance"), facts([["verified", row.verification],
      ["sweeps", row.sweeps.join(", ") || "—"],
      ["searched", row.texts.searched], ["time to find", row.texts.find_seconds],
      ["time to train", row.texts.train_seconds], ...Object.entries(row.facts)]),
    make("h3", {}, "How the setting was chosen"), facts(CHOSEN.filter((name) => row.texts[name] !== "—")
      .map((name) => [named(COLUMNS.get(name)), row.texts[name]]))));
}

function drawRow(row) {
  const board = boardOf(row);
  const told = FIRST.filter((name) => COLUMNS.has(name) && row.texts[name] !== "—").map((name) => COLUMNS.get(name));
  const alikes = row.parameters ? make("a", { href: link({ row: "", view: board.name, size: row.key.slice(0, SHORT) }) }, "Rows of equal size") : "";
  const found = [
    make("p", {}, make("a", { href: link({ row: "", view: state.view || board.name }) }, "← Back to the table")),
    make("h2", { id: "row-title", tabindex: "-1" }, dot(row.family), `${row.texts.title} on ${board.title}`),
    make("p", {}, `${measured(board)}, ${arrow(board)}; ${row.kind}${row.rank_low === null ? ", not ranked" : ""}`
      + `${row.provisional ? ", provisional" : ""}. `, alikes, " ", methodsLink()),
    facts(told.map((column) => [named(column), column.cell(row)])),
  ];
  if (row.lost) found.push(lost(row));
  if (row.superseded) found.push(make("p", { class: "doubt" }, `Superseded: ${row.superseded}.`));
  if (row.command) found.push(make("p", {}, commandOf(row)));
  if (row.published.length) found.push(make("h3", {}, "Published numbers"), ...row.published.map(drawNumber));
  if (row.seeds.length) found.push(make("h3", {}, "Retrainings"), drawSeeds(row));
  found.push(drawOwnFigures(row));
  if (row.kind === "retrained") found.push(drawConfiguration(row));
  $("row-part").replaceChildren(...found);
}
