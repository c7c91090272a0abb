// Any table as a file of comma-separated values. Numbers are exact and have no
// digit groups. Times are as the ledger stores them, not in the user's zone.

import { h } from './dom.js';

const apart = new Set(['aside', 'line', 'arg', 'name']); // separated by style on the page, and by a space here

function textOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  if (node.nodeName === 'TIME') return node.getAttribute('datetime');
  const inner = [...node.childNodes].map(textOf).join('');
  return [...(node.classList ?? [])].some((c) => apart.has(c)) ? ` ${inner} ` : inner;
}

// Spreadsheets treat text that begins with these as a formula, and clients choose the names.
const guarded = (text) => (/^[=@\t]/.test(text) || /^[+-](?!\d+(\.\d+)?$)/.test(text) ? `'${text}` : text);

function field(cell) {
  const text = guarded(textOf(cell).replace(/\s+/g, ' ').trim().replace(/^\+(?=\d)/, ''));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A table element as CSV (RFC 4180), with a header line. */
export const csvOf = (table) => [...table.rows].map((row) => [...row.cells].map(field).join(',') + '\r\n').join('');

/** A button that saves the table next to it. */
export const csvButton = (caption) => h('button', {
  class: 'csv', 'aria-label': `CSV of this table: ${caption}`, title: 'Save these rows as comma-separated values',
  onclick(e) {
    const body = csvOf(e.currentTarget.closest('.tablebox').querySelector('table'));
    const address = URL.createObjectURL(new Blob([body], { type: 'text/csv' }));
    h('a', { href: address, download: `${caption.replace(/[^\p{L}\p{N}]+/gu, '-').toLowerCase()}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  },
}, 'CSV');
