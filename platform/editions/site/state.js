// The state: the view, and the filters, which hide rows but change no number. All of it is in the URL.
const FRESH = { view: "", q: "", sort: "", models: "", kinds: "", prov: "1", seeds: "0", proto: "", verdict: "", size: "",
  budget: "", cols: "", page: "0", row: "", open: "", sel: "", only: "", theme: "" };
const FILTERS = ["seeds", "prov", "proto", "verdict", "size", "budget", "kinds"];
let state = { ...FRESH };

function link(change) {
  const next = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...state, ...change })) if (value !== FRESH[name]) next.set(name, value);
  return `#${next}`;
}

function read() {
  state = { ...FRESH, ...Object.fromEntries([...new URLSearchParams(location.hash.slice(1))].filter(([k]) => k in FRESH)) };
}

/** Change the state. A filter replaces the last history entry, and a page adds a new one. */
function set(change) {
  const target = link("page" in change ? change : { ...change, page: "0" });
  history.replaceState(null, "", target === "#" ? location.pathname + location.search : target);
  draw();
}

const list = (text) => text.split(" ").filter(Boolean);
const place = () => EDITION.boards.findIndex((board) => board.name === state.view);

/** Return the visible columns: the chosen ones, else the standard ones in which some row of the view has an entry.
 * The reason why rows are superseded is shown only with such rows. */
function columns() {
  if (state.cols) return list(state.cols);
  const rows = EDITION.rows.filter((row) => place() < 0 || row.board === place());
  const said = STANDARD.filter((name) => !["published", "verdict"].includes(name) || rows.some((row) => row.kind === "retrained"
    && (row.texts[name] !== "—" || (name === "verdict" && row.lost)))).filter((name) => name !== "superseded" || isOpen(name));
  return state.view === "all rows" ? ["place", ...said] : said;
}

const chosenModel = (model) => !state.models || list(state.models).includes(model);
const holds = (text) => list(state.q.toLowerCase()).every((word) => text.toLowerCase().includes(word));
const SHORT = 12;
const isChosen = (row) => list(state.sel).includes(row.key.slice(0, SHORT));

/** Return the smallest number of seeds that the filters allow, one of which hides provisional rows. */
const leastSeeds = () => Math.max(Number(state.seeds) || 0, state.prov === "1" ? 0 : EDITION.enough);

/** Return whether a row has about the same quantity as the row named in the state; true if none is named. */
function alike(row, name, value) {
  const other = state[name] && EDITION.rows.find((one) => one.key.startsWith(state[name]));
  if (!other) return true;
  const [mine, theirs] = [value(row), value(other)];
  return Boolean(mine && theirs) && mine <= theirs * EDITION.alike && theirs <= mine * EDITION.alike;
}

const differs = (row) => row.departures.length + row.known.length > 0;

/** Return whether a row passes the filters. Rows not trained here have no seeds, recipe, size or search. */
function inSight(row) {
  const kinds = list(state.kinds);
  const own = row.kind !== "retrained" || (row.asked >= leastSeeds()
    && (!state.proto || differs(row) === (state.proto === "differs"))
    && (!state.verdict || row.published.some(({ verdict }) => verdict === state.verdict))
    && alike(row, "size", (r) => r.parameters) && alike(row, "budget", (r) => r.searched));
  return own && (row.kind === "trivial" || chosenModel(row.model)) && (!kinds.length || kinds.includes(row.kind))
    && holds(searchText(row)) && (!state.only || isChosen(row));
}
