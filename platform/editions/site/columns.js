// The edition's data, and the table cells that are more than a text of the edition.
const EDITION = JSON.parse(document.getElementById("data").textContent);
const STEP = 100;
const KINDS = ["retrained", "published", "trivial"];
/** Each state and verdict with its own sign, because colour alone must not distinguish them. */
const WORDS = {
  diverged: "✕ diverged", failed: "! failed", missing: "… missing", "not run": "· not run", reproduced: "= reproduced",
  consistent: "≈ consistent", better: "▲ better", worse: "▼ worse", undecided: "? undecided", "other protocol": "≠ other protocol",
};
const byKey = new Map(EDITION.rows.map((row) => [row.key, row]));
const families = [...new Set(EDITION.rows.map((row) => row.family).filter(Boolean))].sort();
const titles = new Map(EDITION.rows.filter((row) => row.family).map((row) => [row.model, row]));
const $ = (id) => document.getElementById(id);

/** Return a new element. Children are nodes or text, so data are never parsed as HTML. */
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

const count = (value) => (value === null || value === undefined ? "—" : value.toLocaleString("en"));
const many = (value, what) => `${count(value)} ${what}${value === 1 ? "" : "s"}`;
const short = (value) => (typeof value === "number" ? String(Number(value.toPrecision(5))) : String(value));
const settingsOf = (row) => Object.entries(row.settings).map(([name, value]) => `${name} ${short(value)}`).join(", ");
const boardOf = (row) => EDITION.boards[row.board];
const measured = (board) => `${board.metric}${board.unit && board.unit !== "1" ? ` [${board.unit}]` : ""}`;
const arrow = (board) => (board.goal === "max" ? "↑ higher is better" : "↓ lower is better");

function dot(family) {
  const colour = EDITION.colours[family] ?? EDITION.colours[""];
  return family ? make("span", { class: "dot", style: `background:${colour}`, title: `family ${family}` }) : null;
}

function stateWord(word) {
  return make("span", { class: word.replace(" ", "") }, WORDS[word] || word);
}

/** Return the verdict on a published number, with its class and sign, and a text on the evidence. */
function verdictWord(number) {
  const kind = number.verdict.replace(" ", "");
  return make("div", { title: number.why || null }, make("span", { class: kind }, WORDS[number.verdict] || number.verdict),
    number.weighed ? make("span", { class: "small" }, number.weighed) : "");
}

const lost = (row) => (row.lost ? make("div", { class: "doubt" }, `! ${row.lost}`) : "");

function result(row) {
  if (row.state !== "ok") return stateWord(row.state);
  const lacking = ["failed", "missing"].filter((name) => row[name]);
  const hint = row.texts.low === "—" ? null : `95 % interval of the mean: ${row.texts.low}`;
  return make("span", { title: hint }, row.texts.mean, lacking.map((name) => make("span", { class: `small ${name}` },
    `${row[name]} ${name}`)), row.superseded ? make("span", { class: "small missing", title: row.superseded }, "superseded")
    : "");
}

/** Return a button that copies a text, or the result of a function called when it is pressed. */
function copyButton(text, what = "") {
  const act = async (event) => {
    const button = event.currentTarget;
    const copied = typeof text === "function" ? text() : text;
    try {
      await navigator.clipboard.writeText(copied);
    } catch {
      const field = make("textarea", {}, copied);
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1200);
  };
  return make("button", { type: "button", class: "copy", "aria-label": `Copy ${what || text}`, on: { click: act } }, "copy");
}

function commandOf(row) {
  return row.command ? make("span", {}, make("code", {}, row.command), copyButton(row.command)) : "—";
}

const methodsLink = () => make("a", { href: link({ view: "methods", row: "" }) }, "See Methods.");

/** Return the checkbox that selects a row. */
function selectBox(row) {
  const name = row.key.slice(0, SHORT);
  const act = (event) => {
    set({ page: state.page, only: "", sel: [...list(state.sel).filter((one) => one !== name),
      ...(event.target.checked ? [name] : [])].join(" ") });
    document.querySelector(`[data-select="${name}"]`)?.focus();
  };
  return make("input", { type: "checkbox", class: "select", "data-select": name, checked: isChosen(row), "aria-label": `Select ${row.texts.title}`,
    on: { change: act } });
}

const isBaseline = (row) => row.kind === "retrained" && !row.superseded && !row.untrusted && EDITION.baselines.includes(row.model);

function title(row) {
  const detail = row.kind === "retrained" ? settingsOf(row) : row.kind === "published" ? "published" : "trivial predictor";
  return [make("span", { class: "head" }, row.kind === "retrained" ? selectBox(row) : "", dot(row.family),
    make("a", { href: link({ row: row.key }), class: "name", title: row.texts.title }, row.texts.title)), make("span", { class: "small" }, [detail, isBaseline(row) && "baseline"].filter(Boolean).join("; "))];
}

/** Return the differences from the paper's training: their number, and a list that can be opened. */
function protocolOf(row) {
  const found = row.departures.length + row.known.length;
  if (row.kind !== "retrained") return "—";
  const head = found ? many(found, "difference") : row.recipe ? "as printed" : "not recorded";
  return make("details", { class: "protocol" }, make("summary", {}, head), row.texts.departures);
}

const leading = (row) => row.published[0] || {};

/** Columns whose cells are more than text. by: the sort key, null if not sortable. Other columns show their text. */
const RICH = {
  place: { by: (r) => boardOf(r).title,
    cell: (r) => make("a", { href: link({ view: boardOf(r).name, row: "" }) }, boardOf(r).title) },
  title: { by: (r) => r.texts.title.toLowerCase(), cell: title },
  median: { cell: (r) => make("span", { class: r.asked && r.median === null ? "diverged" : null }, r.texts.median) },
  mean: { cell: result },
  published: { by: (r) => leading(r).value ?? null, cell: (r) => (r.published.length
    ? r.published.map((p) => make("div", { class: "published-number" }, p.text)) : "—") },
  verdict: { cell: (r) => (r.lost || r.published.length ? [lost(r), ...r.published.map(verdictWord)] : "—") },
  departures: { by: (r) => (r.kind === "retrained" ? r.departures.length + r.known.length : null), cell: protocolOf },
  command: { by: null, cell: (r) => (r.command ? copyButton(r.command) : "—") },
};
/** The text of a cell in an exported file, which for some columns is not the edition's text. */
const exported = (row, name) => ({ place: boardOf(row).name, command: row.command || "—" })[name] ?? row.texts[name];
const plain = ({ key }) => ({ by: (r) => (r.texts[key] === "—" ? null : r[key]), cell: (r) => r.texts[key] });
const COLUMNS = new Map(EDITION.columns.map((column) => [column.key, { ...plain(column), ...column, ...RICH[column.key] }]));
const STANDARD = EDITION.columns.filter(({ stands }) => stands).map(({ key }) => key);
