// Controls, drawing and events.
function drawControls() {
  $("view").value = byKey.has(state.row) ? boardOf(byKey.get(state.row)).name : state.view;
  const front = place() < 0 && state.view !== "all rows";
  drawChoices(front);
  for (const part of document.querySelectorAll("[data-rows]")) part.hidden = front;
  const overview = front && !byKey.has(state.row) && !PAGES.includes(state.view);
  for (const part of document.querySelectorAll("[data-overview]")) part.hidden = !overview;
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

/** Fill the filters whose choices depend on the rows in view: verdicts, and rows of equal size or search. */
function drawChoices(front) {
  const rows = EDITION.rows.filter((row) => row.kind === "retrained" && (place() < 0 || row.board === place()));
  const words = [...new Set(rows.flatMap((row) => row.published.map(({ verdict }) => verdict)))].sort();
  const options = (all) => all.map(([value, text]) => make("option", { value, selected: false }, text));
  const of = (name, has, text) => [["", "any row"], ...(front ? [] : [...rows].sort((a, b) => isBaseline(b) - isBaseline(a))
    .filter((row) => has(row) || row.key.startsWith(state[name] || " ")).map((row) => [row.key.slice(0, SHORT), `${row.texts.title.slice(0, 40)}: ${text(row)}`]))];
  $("proto").replaceChildren(...options([["", "any"], ["as printed", "as printed"], ["differs", "differs"]]));
  $("verdict").replaceChildren(...options([["", "any"], ...words.map((word) => [word, WORDS[word] || word])]));
  $("size").replaceChildren(...options(of("size", (row) => row.parameters, (row) => count(row.parameters))));
  $("budget").replaceChildren(...options(of("budget", (row) => row.searched, (row) => many(row.searched, "trial"))));
  for (const name of ["proto", "verdict", "size", "budget"]) $(name).value = state[name];
  const used = FILTERS.filter((name) => state[name] !== FRESH[name]).length;
  $("filters-count").textContent = used ? ` (${used})` : "";
}

let shownRow = "";
const PAGES = ["methods", "changes"];

function draw() {
  read();
  const row = byKey.get(state.row);
  const board = EDITION.boards[place()];
  const page = PAGES.includes(state.view) && !row ? state.view : "";
  applyTheme();
  drawControls();
  $("row-part").hidden = !row;
  $("table-part").hidden = Boolean(row || page);
  $("filters").hidden = Boolean(page);
  $("settings").hidden = Boolean(row);
  for (const name of PAGES) $(`${name}-part`).hidden = page !== name;
  for (const one of document.querySelectorAll("[data-page]")) one.setAttribute("aria-current", one.dataset.page === page ? "page" : "false");
  if (row) drawRow(row);
  else if (board) drawRows(EDITION.rows.filter((one) => one.board === place()), board);
  else if (state.view === "all rows") drawRows(EDITION.rows, null);
  else if (!page) drawOverview();
  drawHeading(board, page);
  drawShare();
  document.title = `${row ? `${row.texts.title} on ${boardOf(row).title}` : board ? board.title : EDITION.title} · ${EDITION.id}`;
  if (shownRow !== (row ? row.key : page)) {
    scrollTo(0, 0);
    if (row || page) $(row ? "row-title" : `${page}-title`).focus({ preventScroll: true });
  }
  shownRow = row ? row.key : page;
}

/** Draw the heading with the best model and how certain that is, above the table, and a board's figures below it. */
function drawHeading(board, page) {
  const unknown = state.row && !byKey.has(state.row) ? `There is no row ${state.row} in this edition.`
    : state.view && !board && !page && state.view !== "all rows" ? `There is no board “${state.view}” in this edition.` : "";
  $("heading").textContent = board ? `${board.title}: ${measured(board)}, ${arrow(board)}`
    : state.view === "all rows" ? "All rows of all boards" : `All tasks: ${many(EDITION.overviews.flatMap(({ boards }) => boards).length, "board")}`;
  $("answer").replaceChildren(unknown ? make("b", {}, `${unknown} `) : "", board ? board.answer
    : state.view === "all rows" ? "Rows are ranked within one board." : EDITION.answer);
  const shown = board?.name ?? "";
  if ($("figures").dataset.board !== shown) {
    $("figures").dataset.board = shown;
    $("figures").replaceChildren(board?.figures.length ? make("div", { class: "figures" }, board.figures.map((one) => drawFigure(one))) : "");
  }
  drawSelected();
}

function toggled(name, all, value, on) {
  const now = list(state[name]);
  const next = (now.length ? now : all).filter((one) => one !== value).concat(on ? [value] : []);
  if (all.every((one) => next.includes(one))) return "";
  return all.filter((one) => next.includes(one)).join(" ") || "none";
}

function box(text, attributes, act) {
  const input = make("input", { type: "checkbox", ...attributes, on: { change: (event) => act(event.target) } });
  return make("label", {}, input, " ", ...[text].flat());
}

function build() {
  $("view").append(make("option", { value: "" }, "All tasks: overview"), make("option", { value: "all rows" }, "All rows"),
    make("optgroup", { label: "Boards" }, EDITION.boards.map((board) => make("option", { value: board.name }, board.title))));
  $("view").onchange = (event) => { location.hash = link({ view: event.target.value, page: "0", sort: "", row: "", size: "", budget: "", verdict: "" }); };
  $("search").oninput = (event) => set({ q: event.target.value });
  $("provisional").onchange = (event) => set({ prov: event.target.checked ? "1" : "0" });
  $("seeds").oninput = (event) => set({ seeds: event.target.value || "0" });
  for (const name of ["proto", "verdict", "size", "budget"]) $(name).onchange = (event) => set({ [name]: event.target.value });
  $("settings").open = !matchMedia("(max-width: 40rem)").matches;
  $("reset").onclick = () => set({ ...FRESH, view: state.view, theme: state.theme });
  const every = [...titles.keys()].sort();
  const choose = (names, on) => set({ models: every.filter((name) => (names.includes(name) ? on
    : list(state.models).includes(name))).join(" ") });
  for (const family of families) {
    const mine = every.filter((name) => titles.get(name).family === family);
    $("models").append(make("div", { class: "family" }, box([dot(family), family], { "data-family": family },
      (input) => choose(mine, input.checked))), make("div", {}, mine.map((name) => box(titles.get(name).title.split(" (")[0],
      { value: name }, (input) => choose([name], input.checked)))));
  }
  $("kinds").append(...KINDS.map((kind) => box(kind, { value: kind },
    (input) => set({ kinds: toggled("kinds", KINDS, kind, input.checked) }))));
  $("columns").append(...[...COLUMNS].map(([name, { heading: text }]) => box(text, { value: name }, (input) => set({
    cols: [...COLUMNS.keys()].filter((one) => (one === name ? input.checked : columns().includes(one))).join(" ") }))));
  $("how").append(...[...COLUMNS.values()].flatMap(({ heading: text, meaning: how }) => [make("dt", {}, text), make("dd", {}, how)]),
    make("dt", {}, "Without a number"), make("dd", {}, "“diverged”: every retraining met a loss that is not finite; “failed”:"
    + " an error ended it; “missing”: planned, but not finished; “not run”: never planned. None of them is a zero."));
  const { counts } = EDITION;
  const beside = EDITION.rows.filter((row) => row.kind === "retrained" && row.published.length).length;
  const without = counts.published ? `, ${many(counts.published, "printed number")} without a row` : "";
  $("about").textContent = `${many(counts.retrained, "row")} of ${many(counts.retrainings, "retraining")}, ${count(beside)} of `
    + `them beside printed numbers${without}, and ${many(counts.trivial, "trivial predictor")}, on ${many(counts.boards, "board")}.`;
  $("foot").append("Edition ", make("code", {}, EDITION.id), `, ${EDITION.created.slice(0, 10)}, written by commit `,
    make("code", {}, EDITION.commit.slice(0, 12)), `. It never changes; its name is a hash of its rows.`);
}

function buildChanges() {
  const { changes, previous } = EDITION;
  if (!previous) return $("changes").append(make("p", {}, "This is the first edition."));
  $("changes").append(make("p", {}, `Since edition ${previous}: ${changes.length ? many(changes.length, "change") : "no changes"}.`),
    changes.length ? make("p", { class: "caption" }, EDITION.reasons) : "");
  const places = new Map();
  for (const change of changes) {
    const name = `${change.task} ${change.variant}`.trim();
    places.set(name, [...(places.get(name) ?? []), change]);
  }
  for (const [name, some] of places) {
    $("changes").append(make("details", { open: places.size < 4 }, make("summary", {}, `${name} (${some.length})`), make("ul",
      {}, some.map((c) => make("li", {}, byKey.has(c.key) ? make("a", { href: link({ row: c.key }) }, c.title) : c.title,
        ` ${c.kind === "retrained" ? "" : `(${c.kind}) `}${[c.before, c.after].filter(Boolean).join(" → ")}: `,
        c.reasons.join("; "))))));
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)");
let kept = null;
try { kept = localStorage.getItem("longwave-theme"); } catch { /* some browsers forbid it for local files */ }

/** Show the theme of the link, else the one chosen here before, else that of the system. */
function applyTheme() {
  const root = document.documentElement;
  root.dataset.theme = ["light", "dark"].includes(state.theme) ? state.theme : kept || (dark.matches ? "dark" : "light");
  $("theme").textContent = root.dataset.theme === "dark" ? "Light" : "Dark";
}

function buildTheme() {
  $("theme").onclick = () => {
    kept = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("longwave-theme", kept); } catch { /* as above */ }
    set({ page: state.page, theme: kept });
  };
  dark.addEventListener("change", applyTheme);
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
