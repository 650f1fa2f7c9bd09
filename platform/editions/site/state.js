// What is chosen: the view, and the filters, which hide rows and change no number. All of it is in the URL.
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
const chosenModel = (model) => !state.models || list(state.models).includes(model);
const holds = (text) => list(state.q.toLowerCase()).every((word) => text.toLowerCase().includes(word));

/** Return the fewest seeds that a row in sight has; leaving out provisional rows says that, too. */
const leastSeeds = () => Math.max(Number(state.seeds) || 0, state.prov === "1" ? 0 : EDITION.enough);

/** Return whether the filters leave a row in sight. */
function inSight(row) {
  const kinds = list(state.kinds);
  return (row.kind === "trivial" || chosenModel(row.model)) && (row.kind !== "reproduced" || row.asked >= leastSeeds())
    && (!kinds.length || kinds.includes(row.kind)) && holds(searchText(row));
}
