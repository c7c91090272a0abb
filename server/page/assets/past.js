// A container as of an earlier moment: the tabs for its history, and the bar that
// shows the moment of a view. A moment is the number of a commit or a time. It is
// part of the address: #/container/7?at=123.

import { h } from './dom.js';
import { commitLink, time } from './format.js';

const seqPattern = /^(0|[1-9]\d{0,18})$/;

/** The query for a moment, as `${prefix}seq` or `${prefix}time`; null for none. */
export function atOf(moment, prefix) {
  if (!moment) return null;
  return seqPattern.test(moment) ? { [`${prefix}seq`]: moment } : { [`${prefix}time`]: moment };
}

/** Turns a moment as typed into its form in the address. A time in the user's own zone becomes one in UTC. */
export function typedMoment(text) {
  const typed = text.trim().replace(/^#/, '');
  if (!typed || seqPattern.test(typed)) return typed;
  const date = new Date(/^\d{4}-\d\d-\d\d$/.test(typed) ? `${typed}T00:00` : typed.replace(/^(\S+) (\S+)$/, '$1T$2'));
  return Number.isNaN(date.getTime()) || /Z$/.test(typed) ? typed : date.toISOString();
}

export const momentHint = 'a commit such as 123, or a time such as 2026-01-31 12:00';

/** An address below a container, with the parts of the query that are set. */
export function containerHash(id, part, query) {
  const given = Object.entries(query ?? {}).filter(([, v]) => v !== undefined && v !== null && v !== '');
  return `#/container/${encodeURIComponent(id)}${part}${given.length ? `?${new URLSearchParams(given)}` : ''}`;
}

/** The two views of a container. */
export const containerTabs = (id, here) => h('nav', { class: 'tabs', 'aria-label': 'Views of this container' },
  [['now', '', 'What it holds'], ['history', '/history', 'History']].map(([name, part, words]) =>
    h('a', { href: containerHash(id, part), 'aria-current': name === here ? 'page' : null }, words)));

/** The bar that shows the view's moment, with links to others. data and asOf are undefined if the container did not exist then. */
export function pastBar(id, ctx, data, asOf) {
  const { at } = ctx.query;
  const to = (moment, words) => h('a', { href: containerHash(id, '', { at: moment }) }, words);
  const before = data && data.updated_seq > data.created_seq ? BigInt(data.updated_seq) - 1n : null;
  return h('div', { class: at ? 'past panel' : 'past' },
    at && h('p', { role: 'note' }, h('b', null, 'The past: '), asOf
      ? ['as it was after commit ', commitLink(asOf.global_seq), asOf.committed_at ? [', ', time(asOf.committed_at)] : null, '.']
      : ['at ', h('span', { class: 'number' }, at), '.']),
    h('form', {
      'aria-label': 'Go to another moment',
      onsubmit(e) {
        e.preventDefault();
        ctx.go(containerHash(id, '', { at: typedMoment(e.currentTarget.elements.at.value) }));
      },
    }, h('label', null, 'As it was after', h('input', { name: 'at', value: at ?? '', placeholder: 'commit or time', autocomplete: 'off', spellcheck: 'false', required: true, title: momentHint })),
    h('button', null, 'Go back'),
    before && to(before, 'Before its last change'), at && to('', 'Now')));
}
