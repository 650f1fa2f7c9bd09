// The overview of any rows, equal to platform/boards/overview.py and platform/statistics/overall.py. Pure functions.
const SCALE = 2 ** 300;

/** Return the sum of numbers, rounded once; exact for all between 1e-70 and 1e210. */
const sum = (values) => Number(values.reduce((all, x) => all + BigInt(Math.trunc(x * SCALE)), 0n)) / SCALE;
const average = (values) => sum(values) / values.length;

/** Return mean, std (null for one) and n of numbers, as stats.summary does. */
function summary(values) {
  const n = values.length;
  const mean = values.every((x) => x === values[0]) ? values[0] : sum(values.map((x) => x / n));
  return { mean, std: n > 1 ? Math.hypot(...values.map((x) => x - mean)) / Math.sqrt(n - 1) : null, n };
}

/** Return the numbers of the boards with a current row, in order, and a line for each model, best first.
 *
 * Of boards it takes goal, pairs and lost; see platform/boards/pairs.py.
 * A cell is the key of the model's row best on validation, empty where it was never run. Score and rank have value, low
 * and high; a score's interval takes random numbers that a page cannot draw alike, so it is null.
 */
function overview(rows, all) {
  const up = all.map(({ goal }) => (goal === "max" ? 1 : -1));
  const models = new Map();
  for (const row of rows) {
    if (row.kind !== "reproduced" || row.superseded) continue;
    const best = models.get(row.model) ?? new Map();
    const other = best.get(row.board);
    if (!other || better(row, other, up[row.board])) best.set(row.board, row);
    models.set(row.model, best);
  }
  const boards = [...new Set([...models.values()].flatMap((best) => [...best.keys()]))].sort((a, b) => a - b);
  const lines = [...models].map(([model, best]) => {
    const { title, family } = best.get(boards.find((board) => best.has(board)));
    const ran = [...best.values()].filter((row) => row.n + row.diverged).length;
    return { model, title: title.split(" (")[0], family, ran, score: null, rank: null, best };
  });
  const full = lines.filter(({ ran }) => ran === boards.length);
  const tasks = boards.map((board) => {
    const trivial = rows.filter((row) => row.kind === "trivial" && row.board === board);
    return judged(full.map(({ best }) => best.get(board)), trivial, all[board], ALPHA / boards.length);
  });
  full.forEach((line, k) => Object.assign(line, over(tasks.map((places) => places[k]))));
  const order = ({ ran, score, rank, model }) => [-ran, -(score?.value ?? 0), rank?.value ?? 0, model];
  lines.sort((a, b) => compared(order(a), order(b)));
  const cells = (best) => boards.map((board) => best.get(board)?.key ?? "");
  return { boards, lines: lines.map(({ best, ...line }) => ({ ...line, cells: cells(best) })) };
}

/** Return whether a row is better on validation than another of its model and board; test metrics are not looked at. */
function better(row, other, up) {
  const order = ({ valid, config }) => [valid === null ? 1 : 0, -up * (valid ?? 0), config];
  return compared(order(row), order(other)) < 0;
}

function compared(a, b) {
  const k = a.findIndex((value, i) => value !== b[i]);
  return k < 0 ? 0 : a[k] < b[k] ? -1 : 1;
}

/** Return the score and the rank of one model over tasks; without a trivial predictor on every task, no score. */
function over(places) {
  const mean = (part) => average(places.map((place) => place[part]));
  const score = places.every(({ sure }) => sure) ? { value: mean("score"), low: null, high: null } : null;
  return { score, rank: { value: mean("rank"), low: mean("low"), high: mean("high") } };
}

/** Return each row's mean normalised score on one board, its rank, and the lowest and highest that the tests allow. */
function judged(rows, trivial, board, alpha) {
  const up = board.goal === "max" ? 1 : -1;
  const seeds = rows.map((row) => [...row.seeds.flatMap(({ test }) => (test === null ? [] : [up * test])),
    ...Array(row.diverged).fill(null)]);
  const known = seeds.flat().filter((score) => score !== null);
  const lowest = known.length ? Math.min(...known) : 0;
  const zero = trivial.length ? Math.max(...trivial.map(({ mean }) => up * mean)) : lowest;
  const worst = Math.min(zero, ...known);
  const means = seeds.map((scores, k) => ({ ...summary(scores.map((score) => score ?? worst)), at: rows[k].at }));
  const places = standings(means, "max", pairsOf(rows, board, worst), alpha);
  const scores = normalised(seeds, zero).map((gains) => summary(gains).mean);
  return means.map((row, k) => {
    const { rank_low: low, rank_high: high } = places.get(row);
    return { sure: trivial.length > 0, score: scores[k], rank: rankOf(row, means), low, high };
  });
}

/** Return gains of seeds, larger is better, null is diverged, on a scale of 0 at zero and 1 at the best row's mean. */
function normalised(rows, zero) {
  const raw = rows.map((seeds) => seeds.map((score) => (score === null ? 0 : score - zero)));
  const gains = raw.map((seeds) => seeds.map((gain) => Math.max(0, gain)));
  const useful = raw.some((seeds) => summary(seeds).mean > 0);
  const best = useful ? Math.max(...gains.map((seeds) => summary(seeds).mean)) : Infinity;
  return gains.map((seeds) => seeds.map((gain) => gain / best));
}

/** Return the pairs of a board in which a diverged seed counts as worst, larger being better. */
function pairsOf(rows, { pairs, lost }, worst) {
  const broken = new Set(rows.filter((row) => row.diverged).map((row) => row.at));
  const whole = pairs.filter(([i, j]) => !broken.has(i) && !broken.has(j));
  return [...whole, ...(lost.find((one) => one.worst === worst)?.pairs ?? [])];
}

function rankOf(row, rows) {
  const [above, equal] = [rows.filter(({ mean }) => mean > row.mean), rows.filter(({ mean }) => mean === row.mean)];
  return above.length + (1 + equal.length) / 2;
}

/** Return a value with its interval, where it has one: 0.93 [0.90, 0.96]; a dash for none. */
function estimate(found, digits = 2) {
  if (!found) return "—";
  const [value, low, high] = [found.value, found.low, found.high].map((x) => (x === null ? null : fixed(x, digits)));
  return low === null ? value : `${value} [${low}, ${high}]`;
}

/** Return a number with so many decimals; half of the last one goes to the even digit, as in Python. */
function fixed(value, digits) {
  const half = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
  return (half ? (2 * Math.round((value * 10 ** digits) / 2)) / 10 ** digits : value).toFixed(digits);
}
