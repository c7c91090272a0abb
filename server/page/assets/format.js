// How values of the ledger are shown: numbers, ids as links, classes, times.

import { h } from './dom.js';
import { Spelled, namesOf } from './json.js';
import { csvButton } from './csv.js';
export { time } from './time.js';

/** A number with its digits in groups of three. The gaps are made by CSS, so copied text has none. */
export function digits(value) {
  const text = String(value);
  const sign = text.startsWith('-') ? '-' : '';
  const [whole, fraction] = text.slice(sign.length).split('.');
  const head = whole.length % 3 || 3;
  const parts = [sign + whole.slice(0, head)];
  for (let i = head; i < whole.length; i += 3) parts.push(h('span', { class: 'group' }, whole.slice(i, i + 3)));
  if (fraction !== undefined) parts.push(h('span', { class: 'fraction' }, '.' + fraction));
  return h('span', { class: 'number' }, parts);
}

/** A quantity of minor units as a decimal text, exactly. */
export function decimal(minor, decimals) {
  const text = String(minor);
  if (!decimals) return text;
  const padded = text.padStart(decimals + 1, '0');
  return `${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`;
}

export const quantity = (minor, cls) => digits(decimal(minor, cls?.decimals ?? 0));

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A number of bytes in a readable unit, with the exact number on hover. */
export function bytes(n) {
  let value = Number(n), unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return h('span', { title: `${n} bytes` }, digits(value >= 100 ? Math.round(value) : Math.round(value * 10) / 10), h('small', null, ` ${units[unit]}`));
}

/** "1 stack", "2 stacks". */
export const count = (n, one, many = one + 's') => [digits(n), ` ${String(n) === '1' ? one : many}`];

const link = (kind, id, text) => h('a', { href: `#/${kind}/${id}`, class: 'id' }, text ?? String(id));
export const containerLink = (id, text) => link('container', id, text);
export const instanceLink = (id, text) => link('instance', id, text ?? `#${id}`);
export const commitLink = (seq, text) => link('commit', seq, text);
export const ownerLink = (owner) => (owner === null ? h('span', { class: 'none' }, 'nobody')
  : h('a', { href: `#/containers?owner=${owner}`, class: 'id' }, String(owner)));

/** One of ten colours, always the same for a class. It is always next to the name, so that no information depends on the colour alone. */
export const colour = (classID) => `c${BigInt(classID) % 10n}`;

/** A class: a swatch and its name, linked. */
export const classTag = (id, cls) => h('a', { href: `#/class/${id}`, class: `class ${colour(id)}` },
  h('span', { class: 'swatch', 'aria-hidden': 'true' }), cls?.name ?? `class ${id}`, cls?.code ? h('span', { class: 'aside' }, ` ${cls.code}`) : null);

export const kindTag = (kind) => h('span', { class: 'kind' }, kind);

/** A list of names and values. */
export const facts = (...pairs) => h('dl', { class: 'facts' }, pairs.filter(Boolean).map(([name, ...value]) =>
  h('div', null, h('dt', null, name), h('dd', null, value))));

/** A table with a caption for screen readers and a button that saves it. A column is [title, CSS classes], for example 'num' for numbers. */
export function table(caption, columns, rows) {
  return h('div', { class: 'tablebox' }, h('div', { class: 'scroll' }, h('table', null,
    h('caption', { class: 'unseen' }, caption),
    h('thead', null, h('tr', null, columns.map(([title, kind]) => h('th', { scope: 'col', class: kind }, title)))),
    h('tbody', null, rows.map((cells) => h('tr', null, cells.map((cell, i) => h('td', { class: columns[i][1] }, cell))))))),
  h('p', { class: 'tabletools' }, csvButton(caption)));
}

export const empty = (title, ...words) => h('div', { class: 'empty' }, h('p', { class: 'title' }, title), words.length ? h('p', null, words) : null);

// What the arguments of operations refer to.
export const containerArguments = new Set(['container_id', 'from_container', 'to_container', 'other_container_id']);
const instances = new Set(['instance_id', 'parent_id']);

/** The arguments of an operation, in args or in its request. */
export const argsOf = (op) => op.args?.request ?? op.args ?? {};

/** The value of one argument, linked to what it refers to. */
export function argument(name, value, op, classes) {
  if (value === null) return h('span', { class: 'none' }, 'null');
  if (typeof value === 'object' && !(value instanceof Spelled)) return `mint ${value.minted} of this commit`;
  if (containerArguments.has(name)) return containerLink(value);
  if (instances.has(name)) return instanceLink(value);
  if (name === 'class_id') return classTag(value, classes.get(String(value)));
  if (name === 'quantity') return quantity(value, classes.get(String(argsOf(op).class_id)));
  if (name === 'owner') return ownerLink(value);
  return String(value);
}

/** An operation on one line: its name, then its arguments. */
export function operationLine(op, classes) {
  const args = argsOf(op);
  return h('span', { class: 'op' }, h('b', null, op.op), namesOf(args).map((name) => [
    ' ', h('span', { class: 'arg' }, h('span', { class: 'name' }, name.replace('_id', '').replace('_', ' ')), ' ', argument(name, args[name], op, classes)),
  ]));
}

/** The ids of all classes in operations. */
export const classesNamed = (operations) => operations.map((op) => argsOf(op).class_id).filter((id) => id !== undefined && id !== null);
