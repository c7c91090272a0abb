// Small charts of the last minute.

import { h } from './dom.js';
import { live, span } from './live.js';

/** Bars for one field of the history, a bar a second, the newest at the right. */
export function bars(field, label) {
  const now = Math.floor(Date.now() / 1000);
  const values = new Array(span).fill(0);
  for (const entry of live.history) {
    const at = span - 1 - (now - entry.second);
    if (at >= 0 && at < span) values[at] = entry[field];
  }
  const top = Math.max(1, ...values);
  const width = 6, height = 48;
  return h('svg', { class: 'bars', viewBox: `0 0 ${span * width} ${height}`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': `${label}: at most ${Math.max(...values)} in a second of the last minute` },
  values.map((v, i) => h('rect', { x: i * width + 1, width: width - 2, class: v ? 'some' : 'zero',
    y: height - bar(v, top, height), height: bar(v, top, height), rx: 1 })));
}

const bar = (v, top, height) => (v === 0 ? 1.5 : Math.max(3, (v / top) * height));
