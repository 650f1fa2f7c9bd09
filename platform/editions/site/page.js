// Controls, drawing and events.
function drawControls() {
  $("view").value = state.view;
  const front = place() < 0 && state.view !== "all rows";
  for (const part of document.querySelectorAll("[data-rows]")) part.hidden = front;
  for (const part of document.querySelectorAll("[data-overview]")) part.hidden = !front;
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
    : state.view === "all rows" ? "All rows of all boards" : `All tasks: ${many(EDITION.overview.boards.length, "board")}`;
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
  $("columns").append(...[...COLUMNS].map(([name, { heading: text }]) => box(text, { value: name }, (input) => set({
    cols: [...COLUMNS.keys()].filter((one) => (one === name ? input.checked : columns().includes(one))).join(" ") }))));
  $("how").append(...[...COLUMNS.values()].flatMap(({ heading: text, meaning: how }) => [make("dt", {}, text), make("dd", {}, how)]),
    make("dt", {}, "Without a number"), make("dd", {}, "“diverged”: every retraining met a loss that is not finite; “failed”:"
    + " an error ended it; “missing”: asked for and not ended; “not run”: nobody asked for it. None of them is a zero."));
  const { counts } = EDITION;
  $("about").textContent = `${many(counts.reproduced, "row")} of ${count(counts.retrainings)} retrainings, `
    + `${count(counts.published)} published and ${count(counts.trivial)} trivial ones, on ${many(counts.boards, "board")}.`;
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
