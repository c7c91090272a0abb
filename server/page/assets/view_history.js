// What happened to one container: every change, and the state after it.

import { h } from './dom.js';
import { get, classesOf } from './api.js';
import { digits, decimal, quantity, classTag, commitLink, instanceLink, time, table, empty } from './format.js';
import { commands } from './commands.js';
import { pager } from './view_containers.js';
import { atOf, typedMoment, momentHint, containerTabs, containerHash } from './past.js';

const pageSize = 100;

export const history = {
  pattern: /^container\/([^/]+)\/history$/,
  section: 'containers',
  title: ([id]) => `History of ${id}`,
  async load(ctx) {
    const id = ctx.params[0], { from, to, class: classID, key, instance, cursor } = ctx.query;
    const read = [`/v1/read/container/${encodeURIComponent(id)}/history`, { class_id: classID, key, instance_id: instance, ...atOf(from, 'from_'), ...atOf(to, 'to_'), cursor, limit: pageSize }];
    const { data } = await get(...read, ctx.signal);
    const classes = await classesOf(data.entries.map((e) => e.class_id).filter((c) => c !== undefined));
    const filtered = from || to || classID || key || instance;
    return [
      h('p', { class: 'crumbs' }, h('a', { href: '#/containers' }, 'Containers')),
      h('h1', { tabindex: -1 }, 'History of container ', h('span', { class: 'number' }, id)),
      containerTabs(id, 'history'),
      h('div', { class: 'tools' }, filters(id, ctx)),
      data.entries.length === 0
        ? empty(filtered ? 'No change matches.' : 'Nothing is known about its past.',
          data.next_cursor ? 'None in this part of its history; there is more.' : filtered ? h('a', { href: containerHash(id, '/history') }, 'Show all changes') : '')
        : table(`Changes of container ${id}, newest first`,
          [['Commit', 'num idcol'], ['Time', 'when'], ['Operation'], ['Of'], ['Change', 'num'], ['Afterwards', 'num']],
          data.entries.map((e) => [commitLink(e.global_seq), time(e.committed_at), e.op, ...what(e, id, classes.get(String(e.class_id)))])),
      pager(ctx.query, data.next_cursor, containerHash(id, '/history')),
      commands(read),
    ];
  },
};

/** The cells of one change: what changed, by how much, and the state afterwards, linked to that moment. */
function what(e, id, cls) {
  const then = (...words) => h('a', { href: containerHash(id, '', { at: e.global_seq }), title: `Container ${id} after commit ${e.global_seq}` }, words);
  const of = e.class_id === undefined ? null : [classTag(e.class_id, cls), h('span', { class: 'aside' }, 'key ', String(e.key))];
  const place = e.slot_index !== undefined ? `slot ${e.slot_index}` : e.x !== undefined ? `at ${e.x}, ${e.y}${e.rotation ? `, ${e.rotation}°` : ''}` : null;
  if (e.instance_id !== undefined) return [[instanceLink(e.instance_id), ' ', of], e.change, e.change === 'out' ? then('gone from ', place) : then(place ?? 'there')];
  if (e.held !== undefined) return [[of, h('span', { class: 'aside' }, 'hold ', String(e.hold_id))], [signed(e.held_change, cls), ' held'], then(quantity(e.held, cls), ' held')];
  if (e.quantity !== undefined) return [of, signed(e.change, cls), [then(quantity(e.quantity, cls)), place && h('span', { class: 'aside' }, place)]];
  return ['the container itself', e.change, then(e.name === null ? 'without a name' : e.name ?? (e.change === 'removed' ? 'gone' : 'empty'))];
}

const signed = (change, cls) => {
  const text = String(change), less = text.startsWith('-');
  return h('span', { class: less ? 'less' : 'plus' }, less ? '-' : text === '0' ? '' : '+', digits(decimal(less ? text.slice(1) : text, cls?.decimals ?? 0)));
};

const fields = [
  ['class', 'Class', 'id or code', 'the id or the code of a class'], ['key', 'Key', 'any', 'an integer from 0'], ['instance', 'Instance', 'any', 'an integer from 1'],
  ['from', 'From', 'commit or time', momentHint], ['to', 'To', 'commit or time', momentHint],
];

const filters = (id, ctx) => h('form', {
  'aria-label': 'Filter changes',
  onsubmit(e) {
    e.preventDefault();
    const given = Object.fromEntries([...new FormData(e.currentTarget)].map(([name, v]) => [name, name === 'from' || name === 'to' ? typedMoment(v) : v.trim().replace(/^#/, '')]));
    ctx.go(containerHash(id, '/history', given));
  },
}, fields.map(([name, words, placeholder, title]) => h('label', null, words, h('input', { name, value: ctx.query[name] ?? '', placeholder, title, autocomplete: 'off', spellcheck: 'false' }))),
h('button', null, 'Filter'),
fields.some(([name]) => ctx.query[name]) ? h('a', { href: containerHash(id, '/history'), class: 'clear' }, 'Clear') : null);
