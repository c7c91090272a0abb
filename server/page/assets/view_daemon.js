// For operators: how the daemon that serves this page is, in the words of the operator's guide.

import { h, morphChildren } from './dom.js';
import { ask, get } from './api.js';
import { parseExact } from './json.js';
import { live } from './live.js';
import { bars } from './chart.js';
import { digits, facts, table } from './format.js';
import { commands } from './commands.js';
import { metrics, versionOf } from './metrics.js';

// Names as in docs/ops.md and in the alerts.
const watched = [
  ['asset_ledger_read_lag', 'near 0'],
  ['asset_ledger_read_log_damaged', '0'],
  ['asset_ledger_read_connections_dropped_total', '0; else clients hold as many connections as it allows'],
  ['asset_ledger_read_streams_ended_total', '0; else more streams are asked for than -max-streams'],
  ['asset_ledger_read_checkpoints_failed_total', '0'],
  ['asset_ledger_read_history_ready', '1; else histories and the past are being indexed'],
  ['asset_ledger_read_history_bytes', 'of the index of histories'],
  ['asset_ledger_read_streams', 'who follow the commits'],
  ['process_resident_memory_bytes', 'memory'],
];

export const daemon = {
  pattern: /^daemon$/,
  section: '',
  every: 3000, // ms at least between refreshes
  title: () => 'This daemon',
  async load({ signal }) {
    const [health, { freshness, data }, measured, version] = await Promise.all(
      [ask('/v1/health', null, signal), get('/v1/read/freshness', null, signal), metrics(signal), versionOf(signal)]);
    const { status, history, until } = parseExact(health.text);
    return [
      h('h1', { tabindex: -1 }, 'This daemon'),
      facts(
        ['Health', h('b', { class: status === 'healthy' ? null : 'less' }, status ?? 'unknown')],
        ['Address', location.host],
        version && ['Version', version],
        until !== undefined && ['Serves the ledger until', 'commit ', digits(until)],
        history && ['History index', 'commit ', digits(history.made_seq), ' of ', digits(history.of_seq)]),
      h('div', { class: 'cards' },
        card('Applied', digits(freshness.checkpoint_seq), 'the last commit that reads show', 'applied'),
        card('Durable', digits(freshness.commit_log_seq), 'the end of the commit log', 'durable'),
        card('Lag', digits(data.lag), String(data.lag) === '0' ? 'commits: nothing is waiting' : 'commits not applied yet', 'lag'),
        card('Lag in time', [digits(data.lag_ms), h('small', null, ' ms')], 'age of the oldest of them', 'lag_ms')),
      h('div', { class: 'pair', id: 'charts' }, charts()),
      measured && h('section', { 'aria-labelledby': 'metrics' },
        h('h2', { id: 'metrics' }, 'Metrics ', h('span', { class: 'aside' }, h('a', { href: 'v1/metrics' }, 'all of them'))),
        table('Metrics of this daemon', [['Metric'], ['Value', 'num'], ['Good']],
          watched.filter(([name]) => measured.has(name)).map(([name, good]) => [h('code', null, name), value(measured.get(name)), good]))),
      h('section', { 'aria-labelledby': 'others' },
        h('h2', { id: 'others' }, 'The write daemon'),
        h('p', null, 'A page may ask only the daemon that it came from. ', h('code', null, 'ledgerctl health'), ' shows both: the log and its disk, the read daemons and how far each is.')),
      commands(['/v1/health'], ['/v1/read/freshness']),
    ];
  },
  tick(main) {
    const place = main.querySelector('#charts');
    if (place) morphChildren(place, h('div', null, charts()));
  },
};

const value = (text) => digits(/^[\d.]+e[+]\d+$/.test(text) ? Math.round(Number(text)) : text);

const charts = () => [['commits', 'Commits a second'], ['lag', 'Lag in commits']].map(([field, label]) =>
  h('figure', { class: 'panel' }, h('figcaption', null, label, h('span', { class: 'aside' }, 'last minute, at most ', digits(Math.max(0, ...live.history.map((entry) => entry[field]))))),
    live.history.length ? bars(field, label) : null));

const card = (name, shown, words, id) => h('div', { class: 'card' },
  h('div', { class: 'name' }, name), h('div', { class: 'value', id: `value-${id}` }, shown), h('div', { class: 'words' }, words));
