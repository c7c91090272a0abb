// A grid drawn to scale. The drawing is one Tab stop. The arrow keys move from
// placement to placement. Text next to the drawing describes the placement that
// has the focus or is under the pointer.

import { h, morphChildren } from './dom.js';
import { quantity, digits, classTag, instanceLink, colour, decimal } from './format.js';

const cell = 32;         // units of the drawing
const zoom = 1.7;        // pixels per unit, if there is room
const mostLines = 128;   // longest side, in cells, of a grid that is drawn with lines
const leastShare = 200;  // a placement is drawn at least 1/leastShare of the grid's longest side wide and high, to be visible
const fewest = 26;       // side, in cells, above which the drawing shrinks to fit, so that its axes must grow

// The size of the axes, relative to that in a small grid.
const axisScale = (w, gh) => Math.max(1, Math.max(w, gh) / fewest);

/** The drawing, with details and a legend. */
export function gridPanel(data, held) {
  const { grid_width: w, grid_height: gh } = data;
  const details = h('div', { class: 'details', id: 'details' }, hint());
  const tell = (p) => morphChildren(document.getElementById('details'), h('div', null, p ? describe(p, held) : hint()));
  const cells = held.placements.reduce((n, p) => n + p.width * p.height, 0);
  const title = `Grid of ${w} by ${gh} cells, ${held.placements.length} placements`;
  const edge = 20 * axisScale(w, gh), wide = w * cell + edge + 4, high = gh * cell + edge + 4;
  const drawing = h('svg', {
    class: 'grid', id: 'grid', viewBox: `${-edge} ${-edge} ${wide} ${high}`,
    width: wide * zoom, height: high * zoom, role: 'listbox', 'aria-label': title, 'aria-describedby': 'details',
    onkeydown: walk,
  }, backdrop(w, gh), held.placements.map((p, i) => placement(p, i, held, tell, Math.max(w, gh) * cell / leastShare)),
  h('g', { 'aria-hidden': 'true', 'pointer-events': 'none' }, held.placements.map((p) => caption(p, held))));
  return h('section', { 'aria-labelledby': 'grid-title' },
    h('h2', { id: 'grid-title' }, 'Grid ', h('span', { class: 'aside' }, digits(cells), ' of ', digits(w * gh), ' cells covered')),
    h('div', { class: 'gridrow' }, h('div', { class: 'panel drawing' }, drawing), h('div', { class: 'side' }, details, legend(held))));
}

const hint = () => h('p', { class: 'hint' }, 'Point at a placement, or focus the grid and use the arrow keys; Enter opens it.');

function backdrop(w, gh) {
  const parts = [h('rect', { class: 'ground', width: w * cell, height: gh * cell })];
  if (Math.max(w, gh) <= mostLines) {
    for (let x = 1; x < w; x++) parts.push(h('line', { class: 'rule', x1: x * cell, x2: x * cell, y1: 0, y2: gh * cell }));
    for (let y = 1; y < gh; y++) parts.push(h('line', { class: 'rule', y1: y * cell, y2: y * cell, x1: 0, x2: w * cell }));
  }
  const each = Math.max(1, Math.ceil(Math.max(w, gh) / 32)), s = axisScale(w, gh);
  for (let x = 0; x < w; x += each) parts.push(h('text', { class: 'axis', 'font-size': 8 * s, x: (x + 0.5) * cell, y: -7 * s, 'text-anchor': 'middle' }, String(x)));
  for (let y = 0; y < gh; y += each) parts.push(h('text', { class: 'axis', 'font-size': 8 * s, x: -6 * s, y: (y + 0.5) * cell + 3 * s, 'text-anchor': 'end' }, String(y)));
  return h('g', { 'aria-hidden': 'true' }, parts);
}

const amount = (p, cls) => (p.instance_id !== undefined ? `#${p.instance_id}` : decimal(p.quantity, cls?.decimals));
const nameOf = (p, held) => held.classes.get(String(p.class_id))?.name ?? `class ${p.class_id}`;

function placement(p, i, held, tell, least) {
  const cls = held.classes.get(String(p.class_id));
  const width = p.width * cell, height = p.height * cell;
  const wide = Math.max(width - 3, least), high = Math.max(height - 3, least);
  return h('g', {
    class: `placement ${colour(p.class_id)}`, role: 'option', tabindex: i === 0 ? 0 : -1, 'aria-selected': 'false',
    'aria-label': `${nameOf(p, held)} ${amount(p, cls)}, at ${p.x}, ${p.y}, ${p.width} by ${p.height} cells`,
    transform: `translate(${p.x * cell} ${p.y * cell})`, 'data-x': p.x, 'data-y': p.y, 'data-w': p.width, 'data-h': p.height,
    'data-open': p.instance_id !== undefined ? `#/instance/${p.instance_id}` : `#/class/${p.class_id}`,
    onfocus: () => tell(p), onpointermove: () => tell(p), // not pointerenter: the page scrolls under the pointer when the keyboard moves the focus
    onpointerleave: () => { if (!document.activeElement?.closest?.('#grid')) tell(null); },
    onclick: () => tell(p),
  }, h('rect', { x: (width - wide) / 2, y: (height - high) / 2, width: wide, height: high, rx: 4 }));
}

// The text on a placement is not part of its element, because a truncated name
// would not match its label, which has the full name.
function caption(p, held) {
  const width = p.width * cell - 10;
  return h('g', { class: 'caption', transform: `translate(${p.x * cell} ${p.y * cell})`, 'data-x': p.x, 'data-y': p.y },
    cutText(nameOf(p, held), width), wholeText(amount(p, held.classes.get(String(p.class_id))), width));
}

// In most fonts, the width of a character is about 0.62 of the font size.
const wide = 0.62, large = 7.5, small = 4;

// A name is truncated to the available width.
function cutText(text, width) {
  const most = Math.floor(width / (large * wide));
  const all = [...text];
  return h('text', { x: 5, y: 12.5, 'font-size': large }, all.length <= most ? text : `${all.slice(0, Math.max(1, most - 1)).join('')}…`);
}

// An amount is never truncated, because a part of it would be read as a different amount. It is drawn smaller, or not at all.
function wholeText(text, width) {
  const size = Math.min(large, width / (text.length * wide * 1.1));
  return size < small ? null : h('text', { x: 5, y: 23.5, class: 'amount', 'font-size': size }, text);
}

const describe = (p, held) => {
  const cls = held.classes.get(String(p.class_id));
  const row = (name, ...value) => h('div', null, h('dt', null, name), h('dd', null, value));
  return h('dl', { class: 'facts tight' },
    row('Class', classTag(p.class_id, cls)), row('Key', digits(p.key)),
    p.instance_id !== undefined ? row('Instance', instanceLink(p.instance_id)) : row('Quantity', quantity(p.quantity, cls)),
    row('Anchor', `${p.x}, ${p.y}`), row('Size', `${p.width} × ${p.height}`), row('Rotation', `${p.rotation}°`));
};

function legend(held) {
  const counts = new Map();
  for (const p of held.placements) counts.set(String(p.class_id), (counts.get(String(p.class_id)) ?? 0) + 1);
  return counts.size === 0 ? null : h('div', { class: 'legend' }, h('h3', null, 'Classes here'), h('ul', null, [...counts].map(([id, n]) =>
    h('li', null, classTag(id, held.classes.get(id)), h('span', { class: 'aside' }, `× ${n}`)))));
}

// Enter opens the placement. An arrow key moves to the nearest placement in its direction, Home and End to the first and the last.
function walk(e) {
  const all = [...e.currentTarget.querySelectorAll('.placement')];
  const here = e.target.closest('.placement');
  if (!here) return;
  const middle = (g) => [Number(g.dataset.x) + Number(g.dataset.w) / 2, Number(g.dataset.y) + Number(g.dataset.h) / 2];
  const [hx, hy] = middle(here);
  const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  let next = null;
  if (e.key === 'Enter') location.hash = here.dataset.open;
  else if (e.key === 'Home') next = all[0];
  else if (e.key === 'End') next = all.at(-1);
  else if (ways[e.key]) {
    const [dx, dy] = ways[e.key];
    let best = Infinity;
    for (const g of all) {
      const [x, y] = middle(g);
      const along = (x - hx) * dx + (y - hy) * dy;
      const across = Math.abs((x - hx) * dy) + Math.abs((y - hy) * dx);
      if (along > 0 && along + 2 * across < best) [best, next] = [along + 2 * across, g];
    }
  } else return;
  e.preventDefault();
  if (!next) return;
  for (const g of all) g.setAttribute('tabindex', g === next ? 0 : -1);
  next.focus();
}
