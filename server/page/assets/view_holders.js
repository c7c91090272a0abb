// The holders of a class: its stacks by container, or its instances and their places.

import { h } from './dom.js';
import { get, classesOf } from './api.js';
import { digits, quantity, containerLink, instanceLink, commitLink, colour, table, empty } from './format.js';
import { commands } from './commands.js';
import { pager } from './view_containers.js';
import { place } from './view_instance.js';

const pageSize = 100;
const address = (id, part, query) => `#/class/${encodeURIComponent(id)}${part}${query?.size ? `?${query}` : ''}`;

/** The views of a class. */
export const classTabs = (id, c, here) => h('nav', { class: 'tabs', 'aria-label': 'Views of this class' },
  [['class', '', 'Totals and shapes'], c.fungible ? ['holders', '/holders', 'Holders'] : ['instances', '/instances', 'Instances']].map(([name, part, words]) =>
    h('a', { href: address(id, part), 'aria-current': name === here ? 'page' : null }, words)));

/** A view of one list of a class. columns returns its columns, given the list. cells returns the cells of one element. */
const listOf = (name, title, fields, columns, cells) => ({
  pattern: new RegExp(`^class/([^/]+)/${name}$`),
  section: 'classes',
  every: 3000, // minimum ms between refreshes: the list may be long
  title: ([id]) => `${title} of class ${id}`,
  async load({ params: [id], query, signal, go }) {
    const path = `/v1/read/class/${encodeURIComponent(id)}`;
    const read = [`${path}/${name}`, { key: query.key, container_id: query.container, cursor: query.cursor, limit: pageSize }];
    const { data } = await get(...read, signal);
    const c = (await classesOf([data.class_id])).get(String(data.class_id));
    const list = data[name];
    return [
      h('p', { class: 'crumbs' }, h('a', { href: '#/classes' }, 'Classes')),
      h('h1', { tabindex: -1 }, h('span', { class: `swatch big ${colour(c.class_id)}`, 'aria-hidden': 'true' }), `${title} of ${c.name}`),
      classTabs(id, c, name),
      h('div', { class: 'tools' }, filters(id, name, fields, query, go)),
      list.length === 0
        ? empty(`No ${name} here.`, data.next_cursor ? 'None in this part of the list; there is more.' : '')
        : table(`${title} of ${c.name}`, columns(list), list.map((e) => cells(e, c, list))),
      pager(query, data.next_cursor, address(id, `/${name}`)),
      commands(read),
    ];
  },
});

const filters = (id, name, fields, query, go) => h('form', {
  'aria-label': 'Filter this list',
  onsubmit(e) {
    e.preventDefault();
    go(address(id, `/${name}`, new URLSearchParams([...new FormData(e.currentTarget)].map(([k, v]) => [k, v.trim()]).filter(([, v]) => v))));
  },
}, fields.map(([field, words, title]) => h('label', null, words, h('input', { name: field, value: query[field] ?? '', placeholder: 'any', title, autocomplete: 'off', spellcheck: 'false' }))),
h('button', null, 'Filter'),
fields.some(([field]) => query[field]) ? h('a', { href: address(id, `/${name}`), class: 'clear' }, 'Clear') : null);

const byKey = ['key', 'Key', 'an integer from 0'];

const anyHeld = (list) => list.some((e) => e.held);

export const holders = listOf('holders', 'Holders', [byKey],
  (list) => [['Container', 'idcol'], ['Key', 'num'], ['Quantity', 'num'], ...(anyHeld(list) ? [['Held', 'num']] : [])],
  (e, c, list) => [containerLink(e.container_id), digits(e.key), quantity(e.quantity, c), ...(anyHeld(list) ? [e.held ? quantity(e.held, c) : ''] : [])]);

export const instances = listOf('instances', 'Instances', [byKey, ['container', 'Container', 'an id or a name']],
  () => [['Instance', 'idcol'], ['Key', 'num'], ['Where'], ['Minted by commit', 'num']],
  (e) => [instanceLink(e.instance_id), digits(e.key), place(e.location), commitLink(e.minted_seq)]);
