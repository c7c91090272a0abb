// The feed of commits, newest first, and one commit with all its operations.

import { h } from './dom.js';
import { get, getList, classesOf } from './api.js';
import { digits, count, commitLink, instanceLink, time, operationLine, argument, argsOf, classesNamed, facts, table, empty } from './format.js';
import { namesOf, spell } from './json.js';
import { commands } from './commands.js';
import { picker, commitFilters } from './commit_filters.js';

const pageSize = 50;
const searched = 1000;    // commits searched for a page with filters
const mostOperations = 2; // operations of a commit, in a row of the feed
const mostShown = 500;    // operations of a commit, in its own view

/** Up to `most` commits, newest first: those up to commit `to`, or the last ones. pick filters them. */
export async function lastCommits(most, signal, to, pick = () => true) {
  const { all, archived } = await getList('/v1/read/commits', { order: 'newest', before: to && BigInt(to) + 1n, limit: most }, (a) => a.data.commits, most, signal);
  const seen = all.slice(0, most), list = seen.filter(pick);
  const after = seen.length === most ? BigInt(seen.at(-1).global_seq) - 1n : 0n;
  return { list, after: archived ? 0n : after, archived, seen, classes: await classesOf(list.flatMap((c) => classesNamed(c.operations.slice(0, mostOperations)))) };
}

export function commitTable(caption, { list, classes }) {
  const by = list.some((c) => c.principal !== undefined), keyed = list.some((c) => c.metadata.idempotency_key !== undefined);
  return table(caption, [['Commit', 'num idcol'], ['Time', 'when'], ['What it did', 'did'], ...(by ? [['By']] : []), ...(keyed ? [['Idempotency key', 'keycol']] : [])],
    list.map((c) => [commitLink(c.global_seq), time(c.committed_at), [
      c.operations.slice(0, mostOperations).map((op) => h('div', { class: 'line' }, operationLine(op, classes))),
      c.operations.length > mostOperations ? h('div', { class: 'line aside' }, `and ${c.operations.length - mostOperations} more`) : null],
    ...(by ? [c.principal ?? ''] : []),
    ...(keyed ? [c.metadata.idempotency_key === undefined ? '' : h('code', null, c.metadata.idempotency_key)] : [])]));
}

export const commits = {
  pattern: /^commits$/,
  section: 'commits',
  title: () => 'Commits',
  async load({ query, signal, go }) {
    const to = /^[1-9]\d{0,18}$/.test(query.to ?? '') ? query.to : undefined;
    const pick = await picker(query, signal);
    const page = await lastCommits(pick ? searched : pageSize, signal, to, pick);
    const rest = Object.fromEntries(Object.entries(query).filter(([name]) => name !== 'to'));
    const address = (q) => `#/commits${Object.keys(q).length ? `?${new URLSearchParams(q)}` : ''}`;
    return [
      h('h1', { tabindex: -1 }, 'Commits ', h('span', { class: 'aside' }, to === undefined ? 'newest first, as they arrive' : `up to ${to}`)),
      h('div', { class: 'tools' }, commitFilters(query, go)),
      pick && page.seen.length > 0 && h('p', { class: 'aside' }, count(page.list.length, 'match', 'matches'), ` in commits ${page.seen.at(-1).global_seq} to ${page.seen[0].global_seq}`),
      page.list.length === 0 ? (pick ? empty('No commit here matches.', page.after > 0n ? 'Earlier ones may match.' : '')
        : empty('There are no commits here.', 'New commits appear here automatically.'))
        : commitTable('Commits, newest first', page),
      page.archived && h('p', { class: 'aside' }, 'Earlier commits are archived.'),
      h('nav', { class: 'pager', 'aria-label': 'Pages' },
        to === undefined ? null : h('a', { href: address(rest) }, 'Newest'),
        page.after > 0n ? h('a', { href: address({ ...rest, to: page.after }), class: 'next' }, 'Earlier') : null),
      commands(['/v1/read/commits', { order: 'newest', before: to && BigInt(to) + 1n, limit: pick ? searched : pageSize }]),
    ];
  },
};

export const commit = {
  pattern: /^commit\/([^/]+)$/,
  section: 'commits',
  title: ([seq]) => `Commit ${seq}`,
  async load({ params, signal, store }) {
    store.data ??= await get(`/v1/read/commit/${encodeURIComponent(params[0])}`, null, signal); // it never changes
    const { data, freshness } = store.data;
    const classes = await classesOf(classesNamed(data.operations.slice(0, mostShown)));
    const seq = BigInt(data.global_seq), last = BigInt(freshness.checkpoint_seq);
    return [
      h('p', { class: 'crumbs' }, h('a', { href: '#/commits' }, 'Commits')),
      h('h1', { tabindex: -1 }, 'Commit ', digits(data.global_seq)),
      facts(
        ['Committed', time(data.committed_at)],
        ['Exactly', h('span', { class: 'exact' }, data.committed_at)],
        data.principal !== undefined && ['By', h('code', null, data.principal)],
        data.reverses !== undefined && ['Reverses', 'commit ', commitLink(data.reverses)],
        data.reversed_by !== undefined && ['Reversed by', 'commit ', commitLink(data.reversed_by)],
        ['In its batch', 'number ', digits(data.batch_seq)],
        ['Idempotency key', data.metadata.idempotency_key === undefined ? h('span', { class: 'none' }, 'none') : h('code', null, data.metadata.idempotency_key)],
        ['Minted', data.minted_instances.length ? minted(data.minted_instances) : h('span', { class: 'none' }, 'nothing')]),
      h('section', { 'aria-labelledby': 'operations' },
        h('h2', { id: 'operations' }, 'Operations ', h('span', { class: 'aside' }, String(data.operations.length))),
        h('ol', { class: 'operations', start: 0 }, data.operations.slice(0, mostShown).map((op) => operation(op, classes))),
        data.operations.length > mostShown ? h('p', { class: 'aside' }, `and ${data.operations.length - mostShown} more`) : null),
      metadata(data.metadata),
      h('nav', { class: 'pager', 'aria-label': 'Neighbours' },
        seq > 1n ? h('a', { href: `#/commit/${seq - 1n}` }, `Commit ${seq - 1n}`) : null,
        seq < last ? h('a', { href: `#/commit/${seq + 1n}`, class: 'next' }, `Commit ${seq + 1n}`) : null),
      commands([`/v1/read/commit/${encodeURIComponent(params[0])}`]),
    ];
  },
};

const minted = (ids) => [ids.slice(0, 50).map((id, i) => [i ? ', ' : null, instanceLink(id)]), ids.length > 50 ? ` and ${ids.length - 50} more` : null];

function operation(op, classes) {
  const args = argsOf(op);
  return h('li', { class: 'panel' }, h('h3', null, op.op), h('dl', { class: 'facts tight' },
    namesOf(args).map((name) => h('div', null, h('dt', null, name), h('dd', null, argument(name, args[name], op, classes))))));
}

function metadata(sent) {
  return namesOf(sent).length === 0 ? null : h('section', { 'aria-labelledby': 'metadata' },
    h('h2', { id: 'metadata' }, 'Metadata'),
    h('pre', { class: 'panel', tabindex: 0, 'aria-label': 'Metadata as JSON' }, spell(sent)));
}
