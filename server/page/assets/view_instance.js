// One instance: where it is, what it is attached to, and what is attached to it.

import { h } from './dom.js';
import { get, classesOf, Refusal } from './api.js';
import { commands } from './commands.js';
import { digits, classTag, commitLink, containerLink, instanceLink, facts, empty } from './format.js';

const mostAncestors = 64;
const mostDescendants = 200;

export const instance = {
  pattern: /^instance\/([^/]+)$/,
  section: '',
  title: ([id]) => `Instance ${id}`,
  async load({ params, signal }) {
    const self = await read(params[0], signal);
    const [ancestors, below] = await Promise.all([climb(self, signal), descend(self, signal)]);
    const classes = await classesOf([self, ...ancestors, ...below.values()].map((i) => i.class_id));
    const root = ancestors[0] ?? self;
    return [
      h('h1', { tabindex: -1 }, 'Instance ', h('span', { class: 'number' }, String(self.instance_id))),
      facts(
        ['Class', classTag(self.class_id, classes.get(String(self.class_id)))],
        ['Key', digits(self.key)],
        ['Minted', 'commit ', commitLink(self.minted_seq)],
        ['Place', place(self.location)],
        self !== root && ['Its root is', place(root.location)]),
      h('section', { 'aria-labelledby': 'tree' },
        h('h2', { id: 'tree' }, 'Tree'),
        ancestors.length || self.children.length ? tree(ancestors, self, below, classes)
          : empty('It stands alone.', 'It is attached to nothing, and nothing is attached to it.')),
      commands([`/v1/read/instance/${encodeURIComponent(params[0])}`]),
    ];
  },
};

const read = async (id, signal) => (await get(`/v1/read/instance/${encodeURIComponent(id)}`, null, signal)).data;

export function place(location) {
  if (!location) return h('span', { class: 'none' }, 'nowhere');
  if (location.parent_id !== undefined) return ['attached to ', instanceLink(location.parent_id)];
  if (location.slot_index !== undefined) return ['slot ', digits(location.slot_index), ' of container ', containerLink(location.container_id)];
  return [`at ${location.x}, ${location.y}${location.rotation ? `, rotated by ${location.rotation}°` : ''} in container `, containerLink(location.container_id)];
}

/** The instances that it is attached to, the root first. */
async function climb(self, signal) {
  const above = [];
  for (let at = self; at.location?.parent_id !== undefined && above.length < mostAncestors;) {
    at = await read(at.location.parent_id, signal);
    above.unshift(at);
  }
  return above;
}

/** The instances attached below it, by id, level by level, up to a limit. */
async function descend(self, signal) {
  const below = new Map();
  for (let level = self.children; level.length && below.size < mostDescendants;) {
    const asked = level.slice(0, mostDescendants - below.size);
    const found = await Promise.all(asked.map((id) => read(id, signal).catch((e) => {
      if (e instanceof Refusal && e.status === 404) return null; // it was burned in the meantime
      throw e;
    })));
    level = [];
    for (const i of found.filter(Boolean)) {
      below.set(String(i.instance_id), i);
      level.push(...i.children);
    }
  }
  return below;
}

function tree(ancestors, self, below, classes) {
  const line = (i) => [i === self ? h('b', { 'aria-current': 'true' }, `#${i.instance_id}`) : instanceLink(i.instance_id), ' ',
    classTag(i.class_id, classes.get(String(i.class_id))), h('span', { class: 'aside' }, 'key ', digits(i.key))];
  const branch = (i) => h('li', { class: i === self ? 'self' : null }, h('div', { class: 'node' }, line(i)),
    i.children.length ? h('ul', null, i.children.map((id) => {
      const child = below.get(String(id));
      return child ? branch(child) : h('li', null, h('div', { class: 'node' }, instanceLink(id)));
    }), i.next_cursor ? h('li', { class: 'others' }, h('div', { class: 'node' }, 'and more')) : null) : null);
  let node = branch(self);
  for (const a of [...ancestors].reverse()) {
    const others = a.children.length - 1;
    node = h('li', null, h('div', { class: 'node' }, line(a)),
      h('ul', null, node, others ? h('li', { class: 'others' }, h('div', { class: 'node' }, h('a', { href: `#/instance/${a.instance_id}` }, a.next_cursor ? 'and more' : `and ${others} more`))) : null));
  }
  const top = ancestors[0] ?? self;
  return h('div', { class: 'panel' },
    h('p', { class: 'root' }, place(top.location)), h('ul', { class: 'tree' }, node));
}
