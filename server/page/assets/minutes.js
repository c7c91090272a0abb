// Commits per minute over the last hour: read once, then counted as they arrive.

import { get, Refusal } from './api.js';
import { barsOf } from './chart.js';

const span = 60;           // minutes
const longestGap = 30_000; // ms without news after which the counts per minute are unknown

const minuteOf = (ms) => Math.floor(ms / 60_000);

/** The counts of `before`, updated up to commit `applied`. Without counts, or if they are too old, it reads them from the daemon. null if they can't be read. */
export async function commitsByMinute(before, applied, signal) {
  const now = Date.now();
  if (!before || now - before.at > longestGap) return read(applied, signal);
  const came = Number(BigInt(applied) - BigInt(before.applied));
  const counts = new Map([...before.counts].filter(([minute]) => minute > minuteOf(now) - span));
  if (came > 0) counts.set(minuteOf(now), (counts.get(minuteOf(now)) ?? 0) + came);
  return { counts, applied, at: now };
}

async function read(applied, signal) {
  try {
    const { data } = await get('/v1/read/minutes', { min_seq: applied }, signal);
    const first = minuteOf(Date.parse(data.from));
    return { counts: new Map(data.commits.map((n, i) => [first + i, Number(n)])), applied, at: Date.now() };
  } catch (e) {
    if (e instanceof Refusal && e.status !== 401) return null; // this token may not read it, or the history index is being built
    throw e;
  }
}

/** The chart of the counts. */
export function minuteBars({ counts }) {
  const first = minuteOf(Date.now()) - span + 1;
  return barsOf(Array.from({ length: span }, (_, i) => counts.get(first + i) ?? 0), (most) => `Commits a minute: at most ${most} in any minute of the last hour`);
}
