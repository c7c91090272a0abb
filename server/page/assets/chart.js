// Small bar charts: seconds of the last minute, minutes of the last hour.

import { h } from './dom.js';
import { live, span } from './live.js';

const width = 6, height = 48; // largest size of a bar, in units of the drawing

/** Bars for one field of the history, one per second, the newest on the right. */
export function bars(field, label) {
  const now = Math.floor(Date.now() / 1000);
  const values = new Array(span).fill(0);
  for (const entry of live.history) {
    const at = span - 1 - (now - entry.second);
    if (at >= 0 && at < span) values[at] = entry[field];
  }
  return barsOf(values, (most) => `${label}: at most ${most} in any second of the last minute`);
}

/** Bars for values. words returns their description, given the largest value. */
export function barsOf(values, words) {
  const top = Math.max(1, ...values);
  return h('svg', { class: 'bars', viewBox: `0 0 ${values.length * width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': words(Math.max(...values)) },
    values.map((v, i) => h('rect', { x: i * width + 1, width: width - 2, class: v ? 'some' : 'zero', y: height - bar(v, top), height: bar(v, top), rx: 1 })));
}

const bar = (v, top) => (v === 0 ? 1.5 : Math.max(3, (v / top) * height));
