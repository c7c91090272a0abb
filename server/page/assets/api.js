// Asking the read daemon that served this page.

import { parseExact } from './json.js';

// Where the daemon asks who asks, the token stays in this tab, and goes with it.
const kept = 'ledger-token';
export const signIn = (token) => sessionStorage.setItem(kept, token);
export const signOut = () => sessionStorage.removeItem(kept);
export const signedIn = () => sessionStorage.getItem(kept) !== null;
export const signed = (headers) => {
  const token = sessionStorage.getItem(kept);
  return token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
};

/** A refusal, as the daemon worded it. */
export class Refusal extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
  }
}

/** The daemon gave no answer at all, or none that it could have meant. */
export class Gone extends Error {}

/** The status and the text that a path is answered with. The browser keeps answers and asks by their ETag whether they still hold. */
export async function ask(path, query, signal) {
  try {
    const answer = await fetch(withQuery(path, query), { signal, cache: 'no-cache', credentials: 'omit', headers: signed({}) });
    return { ok: answer.ok, status: answer.status, text: await answer.text() };
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Gone('The read daemon does not answer.');
  }
}

/** Reads a path. */
export async function get(path, query, signal) {
  const { ok, status, text } = await ask(path, query, signal);
  let body;
  try {
    body = parseExact(text);
  } catch {
    throw new Gone('What answers here is not a read daemon.');
  }
  if (ok) return body;
  throw new Refusal(status, body?.error ?? { code: status, message: 'The read daemon refused without a reason.' });
}

/** What a promise gives, or null if this token may not see it. */
export const unlessForbidden = (asked) => asked.catch((e) => {
  if (e instanceof Refusal && e.status === 403) return null;
  throw e;
});

export function withQuery(path, query) {
  const given = Object.entries(query ?? {}).filter(([, v]) => v !== undefined && v !== null && v !== '');
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** Reads a list to its end, or until it holds `most` elements. pick finds the list in an answer. */
export async function getList(path, query, pick, most, signal) {
  const all = [];
  let cursor;
  do {
    const answer = await get(path, { ...query, cursor }, signal);
    const list = pick(answer);
    for (const element of list) all.push(element);
    cursor = answer.next_cursor ?? answer.data?.next_cursor;
  } while (cursor && all.length < most);
  return { all, more: Boolean(cursor) };
}

// A class never changes once it is registered, so each is asked for once.
const classes = new Map();

export const rememberClass = (c) => { classes.set(String(c.class_id), Promise.resolve(c)); };

/** The first thousand classes. */
export async function classesAll(signal) {
  const { data } = await get('/v1/read/classes', { limit: 1000 }, signal);
  data.classes.forEach(rememberClass);
  return data.classes;
}

/** The classes of ids, as a Map by the id's text; an unknown one is left out. */
export async function classesOf(ids) {
  const wanted = [...new Set(ids.map(String))];
  const found = await Promise.all(wanted.map((id) => {
    if (!classes.has(id)) {
      const asked = get(`/v1/read/class/${id}`).then((a) => a.data);
      asked.catch(() => classes.delete(id));
      classes.set(id, asked);
    }
    return classes.get(id).catch((e) => {
      if (e instanceof Refusal && e.status === 404) return null;
      throw e;
    });
  }));
  return new Map(wanted.map((id, i) => [id, found[i]]).filter(([, c]) => c));
}
