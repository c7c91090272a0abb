// For operators: the state of the daemons, their log and its copies, in the words of the operator's guide.

import { h, morphChildren } from './dom.js';
import { ask, get } from './api.js';
import { parseExact } from './json.js';
import { live } from './live.js';
import { bars } from './chart.js';
import { bytes, count, digits, facts, table } from './format.js';
import { commands } from './commands.js';
import { metrics, mostBelow } from './metrics.js';
import { statusOf, alertsOf, readersOf, mirrorsOf } from './status.js';

// Names and normal values, as in docs/ops.md.
const watched = [
  ['asset_ledger_read_lag', 'near 0'],
  ['asset_ledger_read_visibility_seconds', '99 % below 10 ms'],
  ['asset_ledger_read_log_damaged', '0'],
  ['asset_ledger_read_source_silence_seconds', 'below 2: a heartbeat arrives every second'],
  ['asset_ledger_read_source_foreign', '0'],
  ['asset_ledger_read_connections_dropped_total', '0; otherwise clients hold as many connections as -max-connections or the limit on open files allows, or keep more than 16 MiB of large headers in their connections'],
  ['asset_ledger_read_budget_waits_total', 'rarely grows (LedgerMemoryFull); requests waited for room within -max-inflight, and a request that waits for 2 s gets 503 Overloaded'],
  ['asset_ledger_read_budget_dropped_total', '0 (LedgerSlowClients); otherwise slow clients were dropped to make room for others'],
  ['asset_ledger_read_streams_ended_total', '0; otherwise clients request more streams than -max-streams'],
  ['asset_ledger_read_checkpoints_failed_total', '0'],
  ['asset_ledger_read_history_ready', '1; otherwise histories and the past are being indexed'],
  ['asset_ledger_read_history_failing', "0 (LedgerHistoryFailing); otherwise the history index can't be written or read: check space, permissions and the disk"],
  ['asset_ledger_read_history_bytes', 'of the history index'],
  ['process_resident_memory_bytes', 'memory'],
];

export const daemon = {
  pattern: /^daemon$/,
  section: '',
  every: 3000, // minimum ms between refreshes
  poll: 5000,  // ms between reads without new commits, because a daemon may be gone
  title: () => 'Daemons',
  async load({ signal }) {
    const [health, { freshness, data }, measured, status] = await Promise.all(
      [ask('/v1/health', null, signal), get('/v1/read/freshness', null, signal), metrics(signal), statusOf(signal)]);
    const said = parseExact(health.text);
    return [
      h('h1', { tabindex: -1 }, 'Daemons'),
      h('div', { class: 'cards' },
        card('Read daemon', state(said.status), status?.read.reason ?? (said.status === 'healthy' ? 'reads are reliable' : 'see its log lines'), 'read'),
        status && writeCard(status, said),
        card('Lag', [digits(data.lag), h('small', null, ' commits')], [digits(data.lag_ms), ' ms; commit ', h('span', { id: 'applied' }, digits(freshness.checkpoint_seq)), ' of ', h('span', { id: 'durable' }, digits(freshness.commit_log_seq)), ' is applied'], 'lag'),
        status && logCard(status.log)),
      status ? alertSection(alertsOf(status, data.lag, measured))
        : h('p', { class: 'aside' }, 'The write daemon, the log and its copies are shown to tokens with the scope ', h('code', null, 'metrics'), '.'),
      facts(
        ['Address', location.host],
        status && ['Name', status.read.name],
        status && ['Version', status.read.version],
        status?.log.path && ['Directory', h('code', null, status.log.path)],
        said.until !== undefined && ['Serves the ledger until', 'commit ', digits(said.until)],
        said.source && ['Copies the log from', said.source.url || 'another daemon', ', last heard from ', digits(said.source.silence_ms), ' ms ago'],
        said.history?.of_seq !== undefined && ['History index', 'commit ', digits(said.history.made_seq), ' of ', digits(said.history.of_seq)],
        said.history?.failing && ['Histories', "the index can't be written or read: see its log lines"]),
      h('div', { class: 'pair', id: 'charts' }, charts()),
      status?.write.length > 0 && part('write', 'Write daemons', table('Write daemons', [['Address'], ['Health'], ['Role'], ['End of the log', 'num'], ['Lag of the slowest reader', 'num']],
        status.write.map((w) => [where(w.url), [state(w.status), w.reason && h('div', { class: 'line aside' }, w.reason)], w.role ?? '',
          w.commit_log ? digits(w.commit_log.end_seq) : '', w.commit_log ? digits(w.commit_log.lag) : '']))),
      status && part('readers', 'Read daemons', table('Read daemons', [['Name'], ['Where'], ['Applied', 'num'], ['Lag', 'num']],
        readersOf(status).map((r) => [r.name, r.by, digits(r.checkpoint_seq), digits(r.lag)]))),
      status && part('mirrors', 'Mirrors', mirrorsOf(status).length === 0 ? h('p', { class: 'none' }, 'No copy of the log on another host has reported recently.')
        : table('Mirrors', [['Name'], ['Where'], ['Copied', 'num'], ['Lag', 'num']], mirrorsOf(status).map((m) => [m.name, where(m.url), digits(m.seq), digits(m.lag)]))),
      measured && part('metrics', ['Metrics of this daemon ', h('span', { class: 'aside' }, h('a', { href: 'v1/metrics' }, 'all of them'))],
        table('Metrics of this daemon', [['Metric', 'idcol'], ['Value', 'num'], ['Good']],
          watched.map(([name, good]) => [h('code', null, name), valueOf(measured, name), good]).filter(([, value]) => value !== undefined))),
      commands(status && ['/v1/status'], ['/v1/health'], ['/v1/read/freshness']),
    ];
  },
  tick(main) {
    const place = main.querySelector('#charts');
    if (place) morphChildren(place, h('div', null, charts()));
  },
};

const part = (id, title, ...content) => h('section', { 'aria-labelledby': id }, h('h2', { id }, title), content);

const state = (status) => h('span', { class: status === 'healthy' ? null : 'less' }, status ?? 'unknown');

const where = (at) => (at ? h('code', null, at) : h('span', { class: 'none' }, 'hidden from this token'));

/** The worst state of the write daemons; without -write-url, what the lock of the log shows. */
function writeCard({ write, log }, said) {
  if (write.length === 0) {
    const open = said.source || log.open_for_writing === undefined ? null : log.open_for_writing ? 'A process on this machine has the log open for writing. ' : 'No process on this machine has the log open for writing. ';
    return card('Write daemon', h('span', { class: 'none' }, 'not asked'), [open, 'Start this daemon with ', h('code', null, '-write-url'), ' to see its health.'], 'write');
  }
  const worst = ['unreachable', 'degraded', 'healthy'].find((s) => write.some((w) => w.status === s));
  const one = write.find((w) => w.status === worst);
  return card(write.length === 1 ? 'Write daemon' : `${write.length} write daemons`, state(worst), one.reason ?? (one.role === 'standby' ? 'none of them writes' : 'commits are accepted'), 'write');
}

const logCard = (log) => card('Log', bytes(log.bytes), log.reason ?? [count(log.segments, 'segment'),
  String(log.end_seq) === '0' ? null : [', commits ', digits(log.first_seq), ' to ', digits(log.end_seq)],
  log.disk_free_bytes === undefined ? null : [', ', bytes(log.disk_free_bytes), ' free on its disk']], 'log');

const alertSection = (on) => (on.length === 0 ? null : part('alerts', 'Alerts', table('Alerts', [['Alert'], ['What it means'], ['What to do']],
  on.map(([name, ...words]) => [h('b', { class: 'less' }, name), ...words]))));

function valueOf(measured, name) {
  const below = mostBelow(measured, name);
  if (below !== undefined) return h('span', { class: 'number' }, '99 % below ', digits(String(below * 1000)), ' ms');
  const text = measured.get(name);
  return text && digits(/^[\d.]+e[+]\d+$/.test(text) ? Math.round(Number(text)) : text);
}

const charts = () => [['commits', 'Commits a second'], ['lag', 'Lag in commits']].map(([field, label]) =>
  h('figure', { class: 'panel' }, h('figcaption', null, label, h('span', { class: 'aside' }, 'last minute, at most ', digits(Math.max(0, ...live.history.map((entry) => entry[field]))))),
    live.history.length ? bars(field, label) : null));

const card = (name, shown, words, id) => h('div', { class: 'card' },
  h('div', { class: 'name' }, name), h('div', { class: 'value', id: `value-${id}` }, shown), h('div', { class: 'words' }, words));
