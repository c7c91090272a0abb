// The first view: which ledger this is, what it contains, and the latest commits.

import { h, morphChildren } from './dom.js';
import { get, classesAll, unlessForbidden } from './api.js';
import { live } from './live.js';
import { bars } from './chart.js';
import { bytes, count, digits, quantity, classTag, table, empty } from './format.js';
import { lastCommits, commitTable } from './view_commits.js';
import { commitsByMinute, minuteBars } from './minutes.js';
import { commands } from './commands.js';
import { statusOf, readersOf } from './status.js';

const mostCounted = 10_000; // containers
const mostClasses = 100;    // classes whose totals are read
const mostShown = 8;        // of these classes, those in the table
const mostLatest = 8;       // commits
const stale = 15_000;       // ms after which the totals are read again

export const overview = {
  pattern: /^$/,
  section: 'overview',
  title: () => 'Overview',
  async load(ctx) {
    const { signal, store, refresh } = ctx;
    const [{ freshness, data }, commits] = await Promise.all([get('/v1/read/freshness', null, signal), unlessForbidden(lastCommits(mostLatest, signal))]);
    const seq = String(freshness.checkpoint_seq);
    if (!store.totals?.containers.count || Date.now() > store.readAt + stale) {
      [store.totals, store.status] = await Promise.all([totals(signal), statusOf(signal)]);
      [store.readAt, store.readSeq] = [Date.now(), seq];
    }
    if (store.readSeq !== seq) { // what is shown is older than the last commit, and there may never be another
      const timer = setTimeout(refresh, store.readAt + stale + 1000 - Date.now());
      signal.addEventListener('abort', () => clearTimeout(timer));
    }
    store.minutes = commits && await commitsByMinute(store.minutes, freshness.checkpoint_seq, signal);
    overview.minutes = store.minutes;
    const { status, totals: { containers, classes, stats } } = store, then = document.querySelector('.note'), late = String(data.lag) !== '0';
    return [
      h('h1', { tabindex: -1 }, 'Overview'),
      h('p', { class: 'lead' }, 'The ledger at ', h('b', null, location.host), then ? ' as it was then, read-only.' : ", live and read-only: new commits appear here automatically, and this page can't change the ledger.",
        status && h('span', { class: 'aside' }, 'version ', status.read.version)),
      h('div', { class: 'cards' },
        card('Commits', digits(freshness.checkpoint_seq), [late ? [h('b', { id: 'value-lag' }, digits(data.lag)), ' more in the log, not applied yet'] : then ? 'up to then' : 'all commits in the log'], 'applied'),
        card('Containers', [digits(containers.count), containers.more ? '+' : ''], containers.words, 'containers'),
        card('Classes', [digits(classes.length), classes.length === 1000 ? '+' : ''], h('a', { href: '#/classes' }, 'All classes'), 'classes'),
        stats && classes.length <= mostClasses && card('Live instances', digits(stats.reduce((n, s) => n + BigInt(s.instances_live), 0n)), 'of all classes', 'instances'),
        status && card('Log', bytes(status.log.bytes), [count(status.log.segments, 'segment'), ', read by ', h('a', { href: '#/daemon', id: 'readers' }, count(readersOf(status).length, 'daemon'))], 'log')),
      h('div', { class: 'pair', id: 'charts' }, charts()),
      stats && stats.length > 0 && h('section', { 'aria-labelledby': 'largest' },
        h('h2', { id: 'largest' }, 'Largest classes ', h('span', { class: 'aside' }, 'by the number of containers that hold some', classes.length > mostClasses ? `, of the first ${mostClasses}` : '')),
        largest(classes, stats)),
      h('section', { 'aria-labelledby': 'latest' },
        h('h2', { id: 'latest' }, 'Latest commits'),
        !commits ? empty('Hidden from this token.', 'Commits show the activity of all owners, and this token is limited to some of them. ', h('a', { href: '#/containers' }, 'Their containers'))
          : commits.list.length ? [commitTable('The latest commits, newest first', commits), h('p', { class: 'more' }, h('a', { href: '#/commits' }, 'All commits'))]
          : empty('The ledger is empty.', 'Its first commit will appear here automatically. ', h('code', null, 'ledgerctl commit -help'), ' explains how to make one.')),
      commands(['/v1/read/freshness'], commits && ['/v1/read/commits', { order: 'newest', limit: mostLatest }], ['/v1/read/classes']),
    ];
  },
  // Once a second, without a request, so that the charts advance.
  tick(main) {
    const place = main.querySelector('#charts');
    if (place) morphChildren(place, h('div', null, charts()));
  },
};

/** The numbers of containers and classes, and the totals of the classes. stats is null for a token that may not see them. */
async function totals(signal) {
  const [list, classes] = await Promise.all([get('/v1/read/containers', { limit: mostCounted }, signal), classesAll(signal)]);
  const stats = await Promise.all(classes.slice(0, mostClasses).map(async (c) => (await unlessForbidden(get(`/v1/read/class/${c.class_id}/stats`, null, signal)))?.data));
  const kinds = new Map();
  for (const c of list.data.containers) kinds.set(c.kind, (kinds.get(c.kind) ?? 0) + 1);
  return {
    containers: {
      count: list.data.containers.length, more: Boolean(list.data.next_cursor),
      words: list.data.next_cursor ? 'only this many are counted' : [...kinds].map(([kind, n]) => `${n} ${kind}`).join(', ') || 'none yet',
    },
    classes, stats: stats.includes(undefined) ? null : stats,
  };
}

function largest(classes, stats) {
  const held = stats.map((s, i) => [classes[i], s]).sort(([, a], [, b]) => Number(BigInt(b.containers) - BigInt(a.containers)));
  return table('The largest classes', [['Class'], ['Total', 'num'], ['In containers', 'num']], held.slice(0, mostShown).map(([c, s]) =>
    [classTag(c.class_id, c), c.fungible ? quantity(s.total_quantity, c) : digits(s.instances_live), digits(s.containers)]));
}

const figure = (label, aside, chart) => h('figure', { class: 'panel' }, h('figcaption', null, label, h('span', { class: 'aside' }, aside)), chart);

function charts() {
  const most = Math.max(0, ...live.history.map((entry) => entry.commits));
  return [
    overview.minutes && figure('Commits a minute', 'last hour', minuteBars(overview.minutes)),
    figure('Commits a second', ['last minute, at most ', digits(most)], live.history.length ? bars('commits', 'Commits a second') : null)];
}

const card = (name, value, words, id) => h('div', { class: 'card' },
  h('div', { class: 'name' }, name), h('div', { class: 'value', id: `value-${id}` }, value), h('div', { class: 'words' }, words));
