// Classes: the list with totals, and one class with drawings of its shapes.

import { h } from './dom.js';
import { get, getList, unlessForbidden, rememberClass } from './api.js';
import { digits, quantity, count, classTag, commitLink, facts, table, empty, colour } from './format.js';
import { commands } from './commands.js';
import { pager } from './view_containers.js';
import { classTabs } from './view_holders.js';

const pageSize = 25;

export const classes = {
  pattern: /^classes$/,
  section: 'classes',
  title: () => 'Classes',
  every: 3000, // minimum ms between refreshes: each class is a separate read
  async load({ query, signal }) {
    const { data } = await get('/v1/read/classes', { cursor: query.cursor, limit: pageSize }, signal);
    data.classes.forEach(rememberClass);
    const stats = await Promise.all(data.classes.map((c) => statsOf(c.class_id, signal)));
    return [
      h('h1', { tabindex: -1 }, 'Classes'),
      data.classes.length === 0
        ? empty('No class is registered yet.', 'An operation ', h('code', null, 'RegisterClass'), ' registers the first.')
        : table('Classes by id', [['Id', 'idcol'], ['Class'], ['Of'], ['Total', 'num'], ['In containers', 'num']],
          data.classes.map((c, i) => [
            h('a', { href: `#/class/${c.class_id}`, class: 'id' }, String(c.class_id)), classTag(c.class_id, c), c.fungible ? 'stacks' : 'instances',
            ...totals(c, stats[i])])),
      pager(query, data.next_cursor, '#/classes'),
      commands(['/v1/read/classes', { cursor: query.cursor, limit: pageSize }]),
    ];
  },
};

const totals = (c, stats) => (stats ? [c.fungible ? quantity(stats.total_quantity, c) : digits(stats.instances_live), digits(stats.containers)] : ['–', '–']);

/** The totals of a class; null for a token that is limited to some owners. */
const statsOf = async (id, signal) => (await unlessForbidden(get(`/v1/read/class/${encodeURIComponent(id)}/stats`, null, signal)))?.data;

export const oneClass = {
  pattern: /^class\/([^/]+)$/,
  section: 'classes',
  title: ([id]) => `Class ${id}`,
  async load({ params, signal }) {
    const path = `/v1/read/class/${encodeURIComponent(params[0])}`;
    const [{ data: c }, stats, { all: shapes }] = await Promise.all(
      [get(path, null, signal), statsOf(params[0], signal), getList(`${path}/shapes`, { limit: 10_000 }, (a) => a.data.shapes, Infinity, signal)]);
    rememberClass(c);
    return [
      h('p', { class: 'crumbs' }, h('a', { href: '#/classes' }, 'Classes')),
      h('h1', { tabindex: -1 }, h('span', { class: `swatch big ${colour(c.class_id)}`, 'aria-hidden': 'true' }), c.name),
      classTabs(params[0], c, 'class'),
      facts(
        ['Id', digits(c.class_id)],
        c.code && ['Code', c.code],
        ['Kind', c.fungible ? 'fungible, in stacks' : 'not fungible, as instances'],
        c.fungible && ['Decimals', String(c.decimals)],
        ['Registered', 'commit ', commitLink(c.registered_seq)]),
      stats && h('div', { class: 'cards' }, c.fungible ? fungibleCards(c, stats) : instanceCards(stats)),
      h('section', { 'aria-labelledby': 'shapes' },
        h('h2', { id: 'shapes' }, 'Shapes'),
        shapes.length === 0 ? empty('No shape is registered.', 'Nothing of this class can be put in a grid yet.') : shapeList(shapes, c)),
      commands([path], [`${path}/stats`], [`${path}/shapes`]),
    ];
  },
};

const card = (name, value, words) => h('div', { class: 'card' }, h('div', { class: 'name' }, name), h('div', { class: 'value' }, value), h('div', { class: 'words' }, words));

const fungibleCards = (c, s) => [
  card('Total', quantity(s.total_quantity, c), [s.total_held ? ['of which ', quantity(s.total_held, c), ' is held, '] : null, 'in ', count(s.stacks, 'stack'), ' of ', count(s.containers, 'container')]),
  card('Added', quantity(s.total_added, c), 'since the beginning'),
  card('Removed', quantity(s.total_removed, c), 'since the beginning'),
];

const instanceCards = (s) => [
  card('Alive', digits(s.instances_live), [count(s.containers, 'container'), String(s.containers) === '1' ? ' holds some' : ' hold some']),
  card('Minted', digits(s.instances_minted), 'since the beginning'),
  card('Burned', digits(s.instances_burned), 'since the beginning'),
];

// All shapes of a class are drawn to the same scale.
function shapeList(shapes, c) {
  const unit = Math.max(0.25, Math.min(22, 176 / Math.max(...shapes.flatMap((s) => [s.width, s.height]))));
  return h('ul', { class: 'shapes' }, shapes.map((s) => h('li', { class: 'panel' },
    h('svg', { class: `shape ${colour(c.class_id)}`, width: s.width * unit + 2, height: s.height * unit + 2, viewBox: `-1 -1 ${s.width * unit + 2} ${s.height * unit + 2}`, 'aria-hidden': 'true' },
      h('rect', { width: s.width * unit, height: s.height * unit, rx: 3 }),
      unit < 4 ? null : [
        Array.from({ length: s.width - 1 }, (_, i) => h('line', { x1: (i + 1) * unit, x2: (i + 1) * unit, y1: 0, y2: s.height * unit })),
        Array.from({ length: s.height - 1 }, (_, i) => h('line', { y1: (i + 1) * unit, y2: (i + 1) * unit, x1: 0, x2: s.width * unit }))]),
    h('p', null, h('b', null, `${s.width} × ${s.height}`), h('span', { class: 'aside' }, s.key === null ? 'every other key' : ['key ', digits(s.key)])))));
}
