// The state of the whole ledger for operators, as the daemon sees it, and the alerts
// of docs/ops.md that it implies, in the words of the tables there.

import { get, unlessForbidden } from './api.js';

/** The status; null for a token that may not see it. */
export const statusOf = async (signal) => (await unlessForbidden(get('/v1/status', null, signal)))?.data ?? null;

// Name; condition (of the status, the lag in commits and a function for metrics); meaning; what to do.
const alerts = [
  ['LedgerWriteDown', ({ write }) => write.length > 0 && write.every((w) => w.status === 'unreachable'),
    'nothing can be committed; reads continue', 'check its log and exit code; 3: damage, 4: another write daemon runs on the same directory'],
  ['LedgerNoWriter', ({ write }) => write.some((w) => w.role) && !write.some((w) => w.role === 'writer'),
    'no daemon of a ledger on several machines is the writer', "check that etcd has a majority, then the write daemons' logs"],
  ['LedgerDamaged', (s, lag, metric) => metric('log_damaged') === 1,
    "the log's digest and the replayed state differ, or bytes of the log can't be read", 'stop committing; ledgerctl wal verify -dir; see below'],
  ['LedgerReadLag', (s, lag) => lag > 10_000,
    "the read daemon can't keep up, or is stuck", 'check the CPU of that machine and its log; a restart begins at a checkpoint'],
  ['LedgerDiskLow', ({ log }) => log.disk_free_bytes < 1e9,
    'less than 1 GB is left', 'archive now, or free space in another way. A full disk loses nothing; commits are rejected'],
  ['LedgerSourceSilent', (s, lag, metric) => metric('source_silence_seconds') > 30,
    'a read daemon with -from reaches none of its sources; it keeps serving what it has', "check the source, the network between, and this daemon's log lines; see readers on other hosts"],
  ['LedgerSourceForeign', (s, lag, metric) => metric('source_foreign') === 1,
    'the source of a read daemon has another history of the log: one of the two was restored from an older backup', 'decide which history is right; see readers on other hosts'],
  ['LedgerNoCheckpoints', (s, lag, metric) => metric('checkpoints_failed_total') > 0,
    "checkpoints can't be written", 'check the space and permissions of ckpt/; nothing is lost, the next start replays more'],
  ['LedgerHistoryFailing', (s, lag, metric) => metric('history_failing') === 1,
    "the history index can't be written or read; reads of history and of the past get 503 after some time", "check the space and permissions of history/, and the daemon's log lines; other reads are served"],
];

/** The active alerts: [name, meaning, what to do]. measured holds the metrics and may be null. */
export function alertsOf(status, lag, measured) {
  const metric = (name) => Number(measured?.get(`asset_ledger_read_${name}`));
  return alerts.filter(([, on]) => on(status, Number(lag), metric)).map(([name, , meaning, what]) => [name, meaning, what]);
}

/** All daemons that read the log: those on this directory, and those that only a write daemon reports. */
export function readersOf({ read, readers, write }) {
  const seen = readers.map((r) => ({ ...r, by: read.name === r.name ? 'this daemon' : 'on this machine' }));
  for (const w of write) {
    for (const r of w.commit_log?.readers ?? []) if (!seen.some((s) => s.name === r.name)) seen.push({ ...r, by: w.url || 'on another machine' });
  }
  return seen;
}

/** All copies of the log on other machines. */
export function mirrorsOf({ mirrors, write }) {
  const seen = [...mirrors];
  for (const w of write) {
    for (const m of w.commit_log?.mirrors ?? []) if (!seen.some((s) => s.name === m.name)) seen.push(m);
  }
  return seen;
}
