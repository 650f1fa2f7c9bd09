// Ranks among any rows of one board, equal to those of platform/statistics/ranking.py. Pure functions.
const ALPHA = 0.05;

/** Return rank_low, rank_high and ties of each row, as a Map.
 *
 * A row has mean, std (null: unknown) and its place in the edition, at. Pairs are those of platform/boards/pairs.py: the
 * p-values of all pairs of places up to ALPHA, not adjusted.
 */
function standings(rows, goal, pairs, alpha = ALPHA) {
  const sign = goal === "max" ? -1 : 1;
  const order = [...rows].sort((a, b) => sign * (a.mean - b.mean));
  const places = order.map(() => ({ rank_low: 1, rank_high: order.length, ties: "", first: 0 }));
  for (const [i, j] of toldApart(order, pairs, alpha)) {
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

/** Return the pairs [i, j, p], i < j, places in rows, that tests of all their pairs, adjusted by Holm at alpha, tell apart. */
function toldApart(rows, pairs, alpha) {
  const place = new Map(rows.map((row, k) => [row.at, k]));
  const found = pairs.filter(([i, j, p]) => p <= alpha && place.has(i) && place.has(j))
    .map(([i, j, p]) => [...[place.get(i), place.get(j)].sort((a, b) => a - b), p]).sort((a, b) => a[2] - b[2]);
  const known = rows.filter(({ std }) => std !== null).length; // a row without a std burdens nobody
  const stop = found.findIndex(([, , p], k) => ((known * (known - 1)) / 2 - k) * p > alpha);
  return stop < 0 ? found : found.slice(0, stop);
}
