// Filters for the commits that the page has read: by operation, class, container,
// client and time. The address keeps the filters.

import { h } from './dom.js';
import { get } from './api.js';
import { argsOf, containerArguments } from './format.js';
import { namesOf } from './json.js';
import { typedMoment } from './past.js';

const fields = [
  ['op', 'Operation', 'the name of an operation, or a part of it'], ['class', 'Class', 'an id or a code'], ['container', 'Container', 'an id or a name'],
  ['by', 'By', 'the name of a client'], ['since', 'Since', 'a time such as 2026-01-31 12:00'], ['until', 'Until', 'a time such as 2026-01-31 12:00'],
];

/** Returns a function that reports whether a commit matches the filters; undefined if there are none. */
export async function picker(query, signal) {
  if (!fields.some(([name]) => query[name])) return undefined;
  const [classID, containerID] = await Promise.all([idOf('class', query.class, signal), idOf('container', query.container, signal)]);
  const op = query.op?.toLowerCase(), since = Date.parse(query.since), until = Date.parse(query.until);
  const tests = [
    op && ((c) => c.operations.some((o) => o.op.toLowerCase().includes(op))),
    classID && ((c) => c.operations.some((o) => String(argsOf(o).class_id) === classID)),
    containerID && ((c) => c.operations.some((o) => namesOf(argsOf(o)).some((name) => containerArguments.has(name) && String(argsOf(o)[name]) === containerID))),
    query.by && ((c) => c.principal === query.by),
    query.since && ((c) => Date.parse(c.committed_at) >= since),
    query.until && ((c) => Date.parse(c.committed_at) <= until),
  ].filter(Boolean);
  return (c) => tests.every((test) => test(c));
}

/** The id for a name, because commits hold only ids. */
async function idOf(kind, named, signal) {
  if (!named || /^\d+$/.test(named)) return named;
  return String((await get(`/v1/read/${kind}/${encodeURIComponent(named)}`, null, signal)).data[`${kind}_id`]);
}

export const commitFilters = (query, go) => h('form', {
  'aria-label': 'Filter commits',
  onsubmit(e) {
    e.preventDefault();
    const given = [...new FormData(e.currentTarget)].map(([name, v]) => [name, name === 'since' || name === 'until' ? typedMoment(v) : v.trim()]).filter(([, v]) => v);
    go(`#/commits${given.length ? `?${new URLSearchParams(given)}` : ''}`);
  },
}, fields.map(([name, words, title]) => h('label', null, words, h('input', { name, value: query[name] ?? '', placeholder: 'any', title, autocomplete: 'off', spellcheck: 'false' }))),
h('button', null, 'Filter'),
fields.some(([name]) => query[name]) ? h('a', { href: '#/commits', class: 'clear' }, 'Clear') : null);
