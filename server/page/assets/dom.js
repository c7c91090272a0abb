// Creating and updating elements. A view is built from scratch for every state
// of the ledger. Then only its differences are applied to the page, so that focus,
// scroll position and selection stay.

const svgTags = new Set(['svg', 'g', 'rect', 'line', 'path', 'text', 'circle', 'pattern', 'defs']);
const handlers = ['onclick', 'onsubmit', 'onkeydown', 'onfocus', 'onblur', 'onchange', 'onpointermove', 'onpointerleave'];

/** Creates an element. Attributes named on… are event handlers. Attributes that are null or false are omitted. */
export function h(tag, attributes, ...children) {
  const e = svgTags.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) e[name] = value;
    else if (value !== null && value !== undefined && value !== false) e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...flat(children));
  return e;
}

/** Flattens nested lists and drops null and false. Everything that is not a node becomes text. */
export const flat = (children) => children.flat(Infinity)
  .filter((c) => c !== null && c !== undefined && c !== false)
  .map((c) => (c instanceof Node ? c : String(c)));

/** Changes the children of the element old into those of the element fresh, keeping existing elements where possible. */
export function morphChildren(old, fresh) {
  const keyed = new Map();
  for (const c of old.children) if (c.dataset.key) keyed.set(c.dataset.key, c);
  let at = old.firstChild;
  for (const want of [...fresh.childNodes]) {
    const key = want.dataset?.key;
    let have = key ? keyed.get(key) : at;
    if (have && have !== at && have.parentNode === old) old.insertBefore(have, at);
    if (have && sameKind(have, want)) {
      at = have.nextSibling;
      morph(have, want);
    } else {
      old.insertBefore(want, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

const sameKind = (a, b) => a.nodeName === b.nodeName && a.dataset?.key === b.dataset?.key && a.id === b.id;

function morph(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (name !== 'open' && name !== 'tabindex' && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of handlers) if (old[name] !== fresh[name]) old[name] = fresh[name];
  morphChildren(old, fresh);
}
