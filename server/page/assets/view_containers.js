// The list of containers: by owner and kind, page by page.

import { h } from './dom.js';
import { get } from './api.js';
import { containerLink, kindTag, ownerLink, table, empty } from './format.js';

const pageSize = 50;
const kinds = ['Standard', 'Slots', 'Grid'];

export const containers = {
  pattern: /^containers$/,
  section: 'containers',
  title: () => 'Containers',
  async load({ query, signal, go }) {
    const { owner, kind, cursor } = query;
    const { data } = await get('/v1/read/containers', { owner, kind, cursor, limit: pageSize }, signal);
    const filtered = owner || kind;
    return [
      h('h1', { tabindex: -1 }, 'Containers'),
      h('div', { class: 'tools' }, openForm(go), filterForm(owner, kind, go)),
      data.containers.length === 0
        ? empty(filtered ? 'No container is like that.' : 'There are no containers yet.',
          filtered ? h('a', { href: '#/containers' }, 'Show all containers') : ['An operation ', h('code', null, 'CreateContainer'), ' makes the first.'])
        : table('Containers by id', [['Container', 'idcol'], ['Kind'], ['Owner']],
          data.containers.map((c) => [containerLink(c.container_id), kindTag(c.kind), ownerLink(c.owner)])),
      pager(query, data.next_cursor, '#/containers'),
    ];
  },
};

const openForm = (go) => h('form', {
  role: 'search', 'aria-label': 'Open a container',
  onsubmit(e) {
    e.preventDefault();
    const id = new FormData(e.currentTarget).get('container').trim();
    if (id) go(`#/container/${id}`);
  },
}, h('label', null, 'Container id', h('input', { name: 'container', inputmode: 'numeric', pattern: '[1-9][0-9]{0,18}', required: true, autocomplete: 'off', title: 'an integer from 1' })),
h('button', null, 'Open'));

const filterForm = (owner, kind, go) => h('form', {
  'aria-label': 'Filter containers',
  onsubmit(e) {
    e.preventDefault();
    const form = new FormData(e.currentTarget);
    const given = [...form].map(([k, v]) => [k, v.trim()]).filter(([, v]) => v);
    go(`#/containers${given.length ? `?${new URLSearchParams(given)}` : ''}`);
  },
}, h('label', null, 'Owner', h('input', { name: 'owner', inputmode: 'numeric', pattern: '[1-9][0-9]{0,18}', value: owner ?? '', autocomplete: 'off', title: 'an integer from 1' })),
h('label', null, 'Kind', h('select', { name: 'kind' }, h('option', { value: '' }, 'any'),
  kinds.map((k) => h('option', { value: k, selected: k === kind }, k)))),
h('button', null, 'Filter'),
owner || kind ? h('a', { href: '#/containers', class: 'clear' }, 'Clear') : null);

/** Links to the first and the next page of a list that goes by cursor. */
export function pager(query, next, base) {
  if (!query.cursor && !next) return null;
  const { cursor, ...rest } = query;
  const to = (q) => `${base}${Object.keys(q).length ? `?${new URLSearchParams(q)}` : ''}`;
  return h('nav', { class: 'pager', 'aria-label': 'Pages' },
    cursor ? h('a', { href: to(rest) }, 'First page') : null,
    next ? h('a', { href: to({ ...rest, cursor: next }), class: 'next' }, 'Next page') : null);
}
