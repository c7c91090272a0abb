// Making and renewing elements. A view is made anew for every state of the
// ledger and then morphed into the page, so that focus, scrolling and
// selection stay where they are.

const svgTags = new Set(['svg', 'g', 'rect', 'line', 'path', 'text', 'circle', 'pattern', 'defs']);
const handlers = ['onclick', 'onsubmit', 'onkeydown', 'onfocus', 'onblur', 'onchange', 'onpointermove', 'onpointerleave'];

/** Makes an element. Attributes named on… are handlers; null and false leave one out. */
export function h(tag, attributes, ...children) {
  const e = svgTags.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) e[name] = value;
    else if (value !== null && value !== undefined && value !== false) e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...flat(children));
  return e;
}

/** Nested lists without what is null or false; anything that is no node is text. */
export const flat = (children) => children.flat(Infinity)
  .filter((c) => c !== null && c !== undefined && c !== false)
  .map((c) => (c instanceof Node ? c : String(c)));

/** Makes the children of old those of fresh, keeping the elements that stay. */
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
