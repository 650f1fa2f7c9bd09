// Export of a view: its link, its citation, and the table on screen as text.
let onScreen = { head: [], rows: [], caption: "" };

/** Return the lines on screen, as texts and as values for programs. */
function screenTable() {
  const { names, rows } = onScreen;
  return { keys: names, head: names.map((name) => COLUMNS.get(name).heading),
    lines: rows.map((row) => names.map((name) => exported(row, name))),
    bold: rows.map((row) => names.map((name) => name === "median" && row.leads)),
    right: names.map((name) => COLUMNS.get(name).align === "right"),
    records: rows.map((row) => Object.fromEntries(names.map((name) => [name, name === "place" ? boardOf(row).name : row[name] ?? null]))) };
}

const FORMULA = /^(\s*[=+\-@\uff1d\uff0b\uff0d\uff20](?=\s*\S)|[\t\r])/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%?$/;
const inCsv = (text) => {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const inMarkdown = (text) => text.replace(/[\\|`]|<(?=[A-Za-z/!?])/g, "\\$&").replace(/\](?=[(\[:])/g, "\\]").replaceAll("\n", " ");
const inLatex = (text) => [...text.replaceAll("\n", " ")].map((sign) => EDITION.latex[sign] ?? sign).join("");

const WRITERS = {
  CSV: ({ head, lines }) => [head, ...lines].map((line) => `${line.map(inCsv).join(",")}\n`).join(""),
  Markdown: ({ head, lines, bold, right }) => {
    const row = (cells) => `| ${cells.join(" | ")} |\n`;
    const rule = `|${right.map((on) => (on ? " ---: |" : " --- |")).join("")}\n`;
    return row(head.map(inMarkdown)) + rule + lines.map((line, k) => row(line.map((text, j) => (bold[k][j] ? `**${inMarkdown(text)}**`
      : inMarkdown(text))))).join("");
  },
  LaTeX: ({ head, lines, bold, right }) => {
    const row = (cells) => `${/^[[*]/.test(cells[0]) ? "{}" : ""}${cells.join(" & ")} \\\\\n`;
    return `\\begin{tabular}{${right.map((on) => (on ? "r" : "l")).join("")}}\n\\hline\n${row(head.map(inLatex))}\\hline\n${
      lines.map((line, k) => row(line.map((text, j) => (bold[k][j] ? `\\textbf{${inLatex(text)}}` : inLatex(text))))).join("")
    }\\hline\n\\end{tabular}\n`;
  },
  JSON: ({ records }) => `${JSON.stringify(records, null, 2)}\n`,
};
const ENDINGS = { CSV: "csv", Markdown: "md", LaTeX: "tex", JSON: "json" };

function citation() {
  const board = EDITION.boards[place()];
  const row = byKey.get(state.row);
  const what = row ? `${row.texts.title} on ${boardOf(row).title}` : board ? board.title : "All boards";
  return `${what}. ${EDITION.title}, edition ${EDITION.id}, ${EDITION.created.slice(0, 10)}. ${location.href}`;
}

function download(kind) {
  const made = URL.createObjectURL(new Blob([WRITERS[kind](screenTable())], { type: "text/plain;charset=utf-8" }));
  const name = (state.view || "overview").toLowerCase().replace(/[^a-z0-9]+/g, "-");
  make("a", { href: made, download: `${name}.${ENDINGS[kind]}` }).click();
  setTimeout(() => URL.revokeObjectURL(made), 1000);
}

function drawShare() {
  const table = place() >= 0 || state.view === "all rows" ? onScreen.rows.length : 0;
  const tables = Object.keys(WRITERS).map((kind) => make("p", {}, make("button", { type: "button", "data-download": kind,
    on: { click: () => download(kind) } }, kind), copyButton(() => WRITERS[kind](screenTable()), kind)));
  $("share-menu").replaceChildren(
    make("p", {}, "Link to this view", copyButton(() => location.href, "link")),
    make("p", {}, "Citation", copyButton(citation, "citation")),
    ...(table && !state.row ? [make("p", { class: "small" }, `The ${many(table, "row")} on screen:`), ...tables] : []));
}
