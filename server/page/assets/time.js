// Times as people say them, with the exact one beside for whoever points at it.

import { h } from './dom.js';

const units = [['day', 86_400], ['hour', 3600], ['minute', 60], ['second', 1]];
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const furthest = 7 * 86_400; // seconds; what is further away is told by its date

function said(date) {
  const seconds = Math.round((date - Date.now()) / 1000), away = Math.abs(seconds);
  if (away > furthest) return date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  const [unit, size] = units.find(([, s]) => away >= s) ?? units.at(-1);
  return relative.format(Math.trunc(seconds / size), unit);
}

/** A time of the ledger: how long ago it was, and on pointing at it the time in the reader's own zone and as the ledger has it. */
export function time(text) {
  const date = new Date(text);
  const local = date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
  return h('time', { datetime: text, title: `${local} (${text})` }, said(date));
}

/** Says all times within an element anew, as they move on. */
export function ageTimes(within) {
  for (const e of within.querySelectorAll('time')) {
    const now = said(new Date(e.dateTime));
    if (e.textContent !== now) e.textContent = now;
  }
}
