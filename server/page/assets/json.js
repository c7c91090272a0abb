// An exact JSON parser. JSON.parse turns every number into a double, which holds
// integers exactly only up to 2^53. Numbers of the ledger go to 2^63 and beyond.
// Here an integer that a double can't hold becomes a BigInt. A number with a
// fraction or exponent (in metadata) becomes a Spelled, which keeps its spelling.

export class Spelled {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const plain = /[^"\\]*/y;
const space = /[ \t\n\r]*/y;

// JavaScript would reorder the names of an object that look like array indexes.
const orders = new WeakMap();

/** The names of an object, in the order in which they were sent. */
export const namesOf = (object) => orders.get(object) ?? Object.keys(object);

export function parseExact(text) {
  let at = 0;
  const value = () => {
    skip();
    switch (text[at]) {
      case '{': return object();
      case '[': return array();
      case '"': return string();
      case 't': return word('true', true);
      case 'f': return word('false', false);
      case 'n': return word('null', null);
    }
    return numeric();
  };
  const fail = () => { throw new SyntaxError(`The response is not valid JSON at character ${at}.`); };
  const skip = () => { space.lastIndex = at; space.exec(text); at = space.lastIndex; };
  const word = (w, v) => {
    if (!text.startsWith(w, at)) fail();
    at += w.length;
    return v;
  };
  const numeric = () => {
    number.lastIndex = at;
    const found = number.exec(text);
    if (!found) fail();
    at = number.lastIndex;
    const n = Number(found[0]);
    if (Number.isSafeInteger(n) && String(n) === found[0]) return n;
    return /^-?[1-9]\d*$/.test(found[0]) ? BigInt(found[0]) : new Spelled(found[0]);
  };
  const string = () => {
    const start = at++;
    for (;;) {
      plain.lastIndex = at;
      plain.exec(text);
      at = plain.lastIndex;
      if (at >= text.length) fail();
      if (text[at] === '"') return JSON.parse(text.slice(start, ++at));
      at += 2; // an escaped character
    }
  };
  const array = () => {
    const list = [];
    at++;
    skip();
    if (text[at] === ']') { at++; return list; }
    for (;;) {
      list.push(value());
      skip();
      const c = text[at++];
      if (c === ']') return list;
      if (c !== ',') fail();
    }
  };
  const object = () => {
    const result = Object.create(null), names = [];
    let indexes = false;
    at++;
    skip();
    if (text[at] === '}') { at++; return result; }
    for (;;) {
      skip();
      if (text[at] !== '"') fail();
      const name = string();
      skip();
      if (text[at++] !== ':') fail();
      result[name] = value();
      names.push(name);
      indexes ||= /^\d/.test(name);
      skip();
      const c = text[at++];
      if (c === '}') break;
      if (c !== ',') fail();
    }
    if (indexes) orders.set(result, names);
    return result;
  };
  const result = value();
  skip();
  if (at !== text.length) fail();
  return result;
}

/** Formats a value of parseExact as indented lines, with numbers as they were sent. */
export function spell(value, indent = '') {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object' || value instanceof Spelled) return String(value);
  const deeper = indent + '  ';
  const parts = Array.isArray(value)
    ? value.map((v) => spell(v, deeper))
    : namesOf(value).map((name) => `${JSON.stringify(name)}: ${spell(value[name], deeper)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (parts.length === 0) return open + close;
  return `${open}\n${deeper}${parts.join(`,\n${deeper}`)}\n${indent}${close}`;
}
