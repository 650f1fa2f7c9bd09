// Ranks among any rows of one board, equal to those of platform/statistics/ranking.py. Pure functions.
const ALPHA = 0.05;
const TERMS = 80;

/** Return rank_low, rank_high and ties of each row, as a Map; a row has mean, std (null: unknown) and n. */
function standings(rows, goal, alpha = ALPHA) {
  const sign = goal === "max" ? -1 : 1;
  const order = [...rows].sort((a, b) => sign * (a.mean - b.mean));
  const places = order.map(() => ({ rank_low: 1, rank_high: order.length, ties: "", first: 0 }));
  for (const [i, j] of toldApart(order, alpha)) {
    places[j].rank_low += 1;
    places[i].rank_high -= 1;
    places[j].first = Math.max(places[j].first, i + 1); // the first row that place j can be tied with
  }
  for (let k = 1; k < places.length; k++) places[k].first = Math.max(places[k].first, places[k - 1].first);
  let group = 0;
  places.forEach(({ first }, k) => {
    if (places[k + 1]?.first === first) return;
    for (const place of places.slice(first, k + 1)) place.ties += letter(group);
    group += 1;
  });
  return new Map(order.map((row, k) => [row, places[k]]));
}

const letter = (group) => String.fromCharCode(97 + (group % 26)) + (group < 26 ? "" : Math.floor(group / 26));
const span = ({ rank_low: low, rank_high: high }) => (low === high ? `${low ?? "—"}` : `${low}–${high}`);
const leads = ({ ties }) => /^a(?!\d)/.test(ties);

/** Return the pairs [i, j], i < j, of rows that Welch tests of all pairs, adjusted by Holm at alpha, tell apart. */
function toldApart(rows, alpha) {
  const known = [...rows.keys()].filter((k) => rows[k].std !== null);
  const found = [];
  for (const i of known) {
    for (const j of known) {
      if (i >= j) continue;
      const p = welch(rows[i], rows[j]);
      if (p <= alpha) found.push([i, j, p]);
    }
  }
  const pairs = (known.length * (known.length - 1)) / 2;
  found.sort((a, b) => a[2] - b[2]);
  const stop = found.findIndex(([, , p], k) => (pairs - k) * p > alpha);
  return stop < 0 ? found : found.slice(0, stop);
}

/** Return the p-value of two means being equal, with cautious degrees of freedom: stats.difference. */
function welch(a, b) {
  const gap = Math.abs(a.mean - b.mean);
  const errors = [a.std / Math.sqrt(a.n), b.std / Math.sqrt(b.n)];
  const error = Math.hypot(...errors);
  if (!error) return gap ? 2 / choose(a.n + b.n, a.n) : 1;
  return outside(gap / error, 1 / Math.max((errors[0] / error) ** 2 / (a.n - 1), (errors[1] / error) ** 2 / (b.n - 1)));
}

/** Return n over k, exact below 2^53. */
function choose(n, k) {
  let found = 1;
  for (let i = 1; i <= k; i++) found = (found * (n - k + i)) / i;
  return found;
}

/** Return P(|T| > t) of Student's t: I_x(freedom / 2, 1 / 2) with x = freedom / (freedom + t²), DLMF 8.17. */
function outside(t, freedom) {
  const a = freedom / 2;
  const square = (t * t) / freedom;
  const front = Math.exp(-a * Math.log1p(square)) / Math.sqrt((1 + 1 / square) * Math.PI) * gammaRatio(a);
  return square * (a + 1) > 1.5 ? (front / a) * fraction(1 / (1 + square), a, 0.5)
    : 1 - 2 * front * fraction(1 / (1 + 1 / square), 0.5, a);
}

/** Return the continued fraction of the incomplete beta function, DLMF 8.17.22, from its last term back. */
function fraction(x, a, b) {
  let found = 1;
  for (let k = TERMS; k > 0; k--) {
    const m = Math.floor(k / 2);
    const factor = k % 2 ? -(a + m) * (a + b + m) : m * (b - m);
    found = 1 + (factor * x) / ((a + k - 1) * (a + k)) / found;
  }
  return 1 / found;
}

/** Return Γ(a + 1/2) / Γ(a), for a > 0, by its series at large a: Tricomi and Erdélyi 1951. */
function gammaRatio(a) {
  let factor = 1;
  for (; a < 30; a++) factor *= a / (a + 0.5);
  const z = (a - 0.25) ** -2;
  return factor * Math.sqrt(a - 0.25) * Math.exp(z / 64 - (5 * z ** 2) / 2048 + (61 * z ** 3) / 49152);
}
