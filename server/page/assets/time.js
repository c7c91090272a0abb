// Times relative to now, with the exact time on hover.

import { h } from './dom.js';

const units = [['day', 86_400], ['hour', 3600], ['minute', 60], ['second', 1]];
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const furthest = 7 * 86_400; // seconds; times further away are shown as a date

function said(date) {
  const seconds = Math.round((date - Date.now()) / 1000), away = Math.abs(seconds);
  if (away > furthest) return date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  const [unit, size] = units.find(([, s]) => away >= s) ?? units.at(-1);
  return relative.format(Math.trunc(seconds / size), unit);
}

/** A time of the ledger: how long ago it was, and on hover the time in the user's own zone and as the ledger stores it. */
export function time(text) {
  const date = new Date(text);
  const local = date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
  return h('time', { datetime: text, title: `${local} (${text})` }, said(date));
}

/** Updates the text of all times within an element. */
export function ageTimes(within) {
  for (const e of within.querySelectorAll('time')) {
    const now = said(new Date(e.dateTime));
    if (e.textContent !== now) e.textContent = now;
  }
}
