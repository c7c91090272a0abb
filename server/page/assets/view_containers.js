// The list of containers, filtered by owner, kind and the beginning of the name, in pages.

import { h } from './dom.js';
import { get } from './api.js';
import { commands } from './commands.js';
import { containerLink, kindTag, ownerLink, table, empty } from './format.js';

const pageSize = 50;
const namePattern = '[A-Za-z0-9][A-Za-z0-9._:\\/@+\\-]{0,127}';
const kinds = ['Standard', 'Slots', 'Grid'];

export const containers = {
  pattern: /^containers$/,
  section: 'containers',
  title: () => 'Containers',
  async load({ query, signal, go }) {
    const { owner, kind, prefix, cursor } = query;
    const read = ['/v1/read/containers', { owner, kind, prefix, cursor, limit: pageSize }];
    const { data } = await get(...read, signal);
    const filtered = owner || kind || prefix;
    const named = data.containers.some((c) => c.name);
    return [
      h('h1', { tabindex: -1 }, 'Containers'),
      h('div', { class: 'tools' }, openForm(go), filterForm(owner, kind, prefix, go)),
      data.containers.length === 0
        ? empty(filtered ? 'No container matches.' : 'There are no containers yet.',
          filtered ? h('a', { href: '#/containers' }, 'Show all containers') : ['An operation ', h('code', null, 'CreateContainer'), ' creates the first.'])
        : table(prefix ? 'Containers by name' : 'Containers by id', [['Container', 'idcol'], ...(named ? [['Name']] : []), ['Kind'], ['Owner']],
          data.containers.map((c) => [containerLink(c.container_id), ...(named ? [c.name ? containerLink(c.container_id, c.name) : ''] : []), kindTag(c.kind), ownerLink(c.owner)])),
      pager(query, data.next_cursor, '#/containers'),
      commands(read),
    ];
  },
};

const openForm = (go) => h('form', {
  role: 'search', 'aria-label': 'Open a container',
  onsubmit(e) {
    e.preventDefault();
    const id = new FormData(e.currentTarget).get('container').trim();
    if (id) go(`#/container/${encodeURIComponent(id)}`);
  },
}, h('label', null, 'Container id or name', h('input', { name: 'container', pattern: namePattern, required: true, autocomplete: 'off', spellcheck: 'false', title: 'an integer from 1, or a name' })),
h('button', null, 'Open'));

const filterForm = (owner, kind, prefix, go) => h('form', {
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
h('label', null, 'Name begins with', h('input', { name: 'prefix', pattern: namePattern, value: prefix ?? '', autocomplete: 'off', spellcheck: 'false', title: 'the first characters of a name' })),
h('button', null, 'Filter'),
owner || kind || prefix ? h('a', { href: '#/containers', class: 'clear' }, 'Clear') : null);

/** Links to the first and the next page of a list with a cursor. */
export function pager(query, next, base) {
  if (!query.cursor && !next) return null;
  const { cursor, ...rest } = query;
  const to = (q) => `${base}${Object.keys(q).length ? `?${new URLSearchParams(q)}` : ''}`;
  return h('nav', { class: 'pager', 'aria-label': 'Pages' },
    cursor ? h('a', { href: to(rest) }, 'First page') : null,
    next ? h('a', { href: to({ ...rest, cursor: next }), class: 'next' }, 'Next page') : null);
}
