// The first view: how fresh the reads are, and what came in last.

import { h, morphChildren } from './dom.js';
import { get, unlessForbidden } from './api.js';
import { live } from './live.js';
import { bars } from './chart.js';
import { digits, empty } from './format.js';
import { lastCommits, commitTable } from './view_commits.js';

export const overview = {
  pattern: /^$/,
  section: 'overview',
  title: () => 'Overview',
  async load(ctx) {
    const [{ freshness, data }, commits] = await Promise.all([get('/v1/read/freshness', null, ctx.signal), unlessForbidden(lastCommits(8, ctx.signal))]);
    return [
      h('h1', { tabindex: -1 }, 'Overview'),
      h('div', { class: 'cards' },
        card('Applied', digits(freshness.checkpoint_seq), 'the last commit that reads show', 'applied'),
        card('Durable', digits(freshness.commit_log_seq), 'the end of the commit log', 'durable'),
        card('Lag', digits(data.lag), String(data.lag) === '0' ? 'commits: nothing is waiting' : 'commits not applied yet', 'lag'),
        card('Lag in time', [digits(data.lag_ms), h('small', null, ' ms')], 'age of the oldest of them', 'lag_ms')),
      h('div', { class: 'pair', id: 'charts' }, charts()),
      h('section', { 'aria-labelledby': 'latest' },
        h('h2', { id: 'latest' }, 'Latest commits'),
        !commits ? empty('Not for this token.', 'Commits show what belongs to every owner, and this token is limited to some. ', h('a', { href: '#/containers' }, 'Their containers'))
          : commits.list.length ? [commitTable('The latest commits, newest first', commits), h('p', { class: 'more' }, h('a', { href: '#/commits' }, 'All commits'))]
          : empty('The ledger is empty.', 'Its first commit will show up here by itself. ', h('code', null, 'ledgerctl commit -help'), ' says how to make one.')),
    ];
  },
  // Once a second, from memory alone, so that the charts move on.
  tick(main) {
    const place = main.querySelector('#charts');
    if (place) morphChildren(place, h('div', null, charts()));
  },
};

const charts = () => [['commits', 'Commits a second'], ['lag', 'Lag in commits']].map(([field, label]) => {
  const last = live.history.at(-1);
  const most = Math.max(0, ...live.history.map((entry) => entry[field]));
  return h('figure', { class: 'panel' }, h('figcaption', null, label, h('span', { class: 'aside' }, 'last minute, at most ', digits(most))),
    last ? bars(field, label) : null);
});

const card = (name, value, words, id) => h('div', { class: 'card' },
  h('div', { class: 'name' }, name), h('div', { class: 'value', id: `value-${id}` }, value), h('div', { class: 'words' }, words));
