// Commits each minute over the last hour: read once, then counted as they come.

import { get } from './api.js';
import { barsOf } from './chart.js';

const span = 60;          // minutes
const mostRead = 5000;    // commits
const page = 1000;        // of them in a request
const mostRequests = 8;   // large commits come fewer at once
const longestGap = 30_000; // ms after which what came in is no longer known by the minute

const minuteOf = (ms) => Math.floor(ms / 60_000);

/** The counts so far with what came in since, up to commit `applied`; read from the log where there are none, or old ones. */
export async function commitsByMinute(before, applied, signal) {
  const now = Date.now();
  if (!before || now - before.at > longestGap) return read(applied, signal);
  const came = Number(BigInt(applied) - BigInt(before.applied));
  const counts = new Map([...before.counts].filter(([minute]) => minute > minuteOf(now) - span));
  if (came > 0) counts.set(minuteOf(now), (counts.get(minuteOf(now)) ?? 0) + came);
  return { ...before, counts, applied, at: now };
}

async function read(applied, signal) {
  const counts = new Map(), first = minuteOf(Date.now()) - span + 1;
  let before = BigInt(applied) + 1n, seen = 0, earliest = Infinity, whole = false;
  for (let n = 0; n < mostRequests && seen < mostRead && !whole; n++) {
    const { data } = await get('/v1/read/commits', { order: 'newest', before, limit: page }, signal);
    for (const c of data.commits) {
      earliest = minuteOf(Date.parse(c.committed_at));
      if (earliest < first) break;
      counts.set(earliest, (counts.get(earliest) ?? 0) + 1);
      seen++;
    }
    whole = earliest < first || !data.next_cursor;
    if (data.commits.length) before = BigInt(data.commits.at(-1).global_seq);
  }
  return { counts, applied, at: Date.now(), words: whole ? 'last hour' : `last hour, of the newest ${seen}` };
}

/** Their chart. */
export function minuteBars({ counts }) {
  const first = minuteOf(Date.now()) - span + 1;
  return barsOf(Array.from({ length: span }, (_, i) => counts.get(first + i) ?? 0), (most) => `Commits a minute: at most ${most} in a minute of the last hour`);
}
