// The current state of the ledger: the last commit applied, the end of the log,
// and whether the daemon responds. It comes over the stream of commits, and is polled
// only for a token that may not read the stream.
//
//   freshness → stream of commits after it → an event → freshness, at most once a second …
//                      ↓ broken or silent                           ↓ a flood of events
//               wait 1, 2, 4 … 15 s, from the start        leave the stream for a second, from the start

import { get, signed, Gone } from './api.js';

const pace = 1000;              // ms between two reads of freshness
const flood = 256 << 10;        // bytes of events within one pace after which the stream is closed for a while
const silence = 45_000;         // ms; the daemon sends a comment every 15 s
const withoutStream = 5_000;    // ms between two reads for tokens that may not read the stream
const longestWait = 15_000;     // ms between two attempts
const forEver = 2 ** 31 - 1;    // ms, until something else ends it
export const span = 60;         // seconds of history

export const live = {
  state: 'connecting', // then 'live', 'gone', or 'locked': a token is required
  applied: undefined, end: undefined, lag: undefined, lagMs: undefined,
  retryAt: 0,
  history: [], // {second, commits, lag}, oldest first
};

const listeners = new Set();
/** Calls fn(news) after every change; news is true if there are new commits. */
export const onLive = (fn) => listeners.add(fn);
const tell = (news) => { for (const fn of listeners) fn(news); };

let stop = new AbortController();
let skipWait = () => {};

/** Retries at once. */
export const retryNow = () => skipWait();

/** Follows the ledger indefinitely. While the page is hidden, it closes the stream. */
export async function follow() {
  document.addEventListener('visibilitychange', () => (document.hidden ? stop.abort() : skipWait()));
  for (let wait = pace; ;) {
    stop = new AbortController();
    try {
      await look(stop.signal);
      wait = pace;
      await stream(stop.signal);
      await pause(pace);
    } catch (e) {
      if (document.hidden) {
        await pause(forEver);
        continue;
      }
      if (e.status === 401) {
        live.state = 'locked';
        tell(false);
        await pause(forEver);
        continue;
      }
      live.state = 'gone';
      live.why = e instanceof Gone || e.status ? e.message : 'The stream of commits ended.';
      live.retryAt = Date.now() + wait;
      tell(false);
      await pause(wait);
      wait = Math.min(2 * wait, longestWait);
    }
  }
}

const pause = (ms) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  skipWait = () => { clearTimeout(timer); done(); };
});

/** Reads the freshness once, and notifies the listeners. */
async function look(signal) {
  const { data, freshness } = await get('/v1/read/freshness', null, signal);
  const before = live.applied, back = live.state !== 'live';
  Object.assign(live, { state: 'live', applied: freshness.checkpoint_seq, end: freshness.commit_log_seq, lag: data.lag, lagMs: data.lag_ms });
  note(before === undefined ? 0 : Math.max(0, Number(live.applied) - Number(before)), Number(data.lag));
  tell(back || before !== live.applied);
}

function note(commits, lag) {
  const second = Math.floor(Date.now() / 1000);
  const last = live.history.at(-1);
  if (last?.second === second) {
    last.commits += commits;
    last.lag = Math.max(last.lag, lag);
  } else {
    live.history.push({ second, commits, lag });
  }
  while (live.history[0].second <= second - span) live.history.shift();
}

/** Reads the stream. It returns if the stream should be reopened, and throws if it broke. */
async function stream(signal) {
  const answer = await fetch(`/v1/read/commits?after=${live.applied}`, {
    signal, cache: 'no-store', credentials: 'omit', headers: signed({ Accept: 'text/event-stream' }),
  });
  if (answer.status === 403) return pause(withoutStream); // this token may not see all commits
  if (!answer.ok) throw new Gone('The read daemon offers no stream of commits.');
  const reader = answer.body.getReader();
  let looked = Date.now(), bytes = 0, due = null, failed = null;
  const lookSoon = () => {
    due ??= setTimeout(() => {
      due = null;
      bytes = 0;
      looked = Date.now();
      look(signal).catch((e) => { failed = e; reader.cancel().catch(() => {}); });
    }, Math.max(0, looked + pace - Date.now()));
  };
  let watch;
  try {
    for (;;) {
      clearTimeout(watch);
      watch = setTimeout(() => reader.cancel().catch(() => {}), silence);
      const { done, value } = await reader.read();
      if (failed) throw failed;
      if (done) throw new Gone('The stream of commits ended.');
      if (value.length === 0) continue;
      bytes += value.length;
      if (bytes > flood) return;
      lookSoon();
    }
  } finally {
    clearTimeout(watch);
    clearTimeout(due);
    reader.cancel().catch(() => {});
  }
}
