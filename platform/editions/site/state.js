// What is chosen: the view, the filters, and with them the pool that ranks are computed in. All of it is in the URL.
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
const columns = () => (state.cols ? list(state.cols) : state.view === "all rows" ? ["place", ...STANDARD] : STANDARD);

/** Return the fewest retrainings that a row of the pool has; leaving out provisional rows says that, too. */
const leastSeeds = () => Math.max(Number(state.seeds) || 0, state.prov === "1" ? 0 : EDITION.enough);

/** Return whether a row is in the pool, as longwave board has it; other filters only put rows out of sight. */
function inPool(row) {
  const models = list(state.models);
  return row.kind === "trivial" || ((!models.length || models.includes(row.model))
    && (row.kind !== "reproduced" || row.n >= leastSeeds()));
}

let computed = { pool: "", boards: new Map(), overview: null };

/** Return what was computed for the pool so far. */
function anew() {
  const pool = poolOptions();
  if (computed.pool !== pool) computed = { pool, boards: new Map(), overview: null };
  return computed;
}

/** Return the rank_low, rank_high and ties of a row in the pool: those of the edition, or computed anew. */
function standing(row) {
  if (!poolOptions() || row.rank_low === null) return row;
  const { boards } = anew();
  if (!boards.has(row.board)) {
    const theirs = EDITION.rows.filter((one) => one.board === row.board && one.rank_low !== null && inPool(one));
    boards.set(row.board, standings(theirs, boardOf(row).goal, boardOf(row).pairs));
  }
  return boards.get(row.board).get(row) ?? { rank_low: null, rank_high: null, ties: "" };
}

/** Return the overview of the pool: that of the edition, or computed anew. */
function overall() {
  if (!poolOptions()) return EDITION.overview;
  anew().overview ??= overview(EDITION.rows.filter(inPool), EDITION.boards);
  return anew().overview;
}

/** Return the options of longwave board that say which pool was chosen; empty for all rows. */
function poolOptions() {
  const models = list(state.models).join(",");
  return [models && `--models ${models}`, leastSeeds() > 0 && `--min-seeds ${leastSeeds()}`].filter(Boolean).join(" ");
}
