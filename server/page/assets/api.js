// Requests to the read daemon that served this page.

import { parseExact } from './json.js';

// If the daemon requires a token, the token is kept in this tab and forgotten when the tab is closed.
const kept = 'ledger-token';
export const signIn = (token) => sessionStorage.setItem(kept, token);
export const signOut = () => sessionStorage.removeItem(kept);
export const signedIn = () => sessionStorage.getItem(kept) !== null;
export const signed = (headers) => {
  const token = sessionStorage.getItem(kept);
  return token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
};

/** An error response, with the daemon's message. */
export class Refusal extends Error {
  constructor(status, error, retryAfter) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.details = error.details ?? {};
    this.retryAfter = retryAfter; // seconds, NaN without a Retry-After
  }
}

/** The daemon did not respond, or the response is not a daemon's. */
export class Gone extends Error {}

/** Requests a path, and returns the status, the text, and after how many seconds to retry. The browser caches responses and revalidates them with their ETag. */
export async function ask(path, query, signal) {
  try {
    const answer = await fetch(withQuery(path, query), { signal, cache: 'no-cache', credentials: 'omit', headers: signed({}) });
    return { ok: answer.ok, status: answer.status, text: await answer.text(), retryAfter: parseInt(answer.headers.get('Retry-After'), 10) };
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Gone('The read daemon does not respond.');
  }
}

/** Reads a path; throws a Refusal or Gone. */
export async function get(path, query, signal) {
  const { ok, status, text, retryAfter } = await ask(path, query, signal);
  let body;
  try {
    body = parseExact(text);
  } catch {
    throw new Gone('The server that responded is not a read daemon.');
  }
  if (ok) return body;
  throw new Refusal(status, body?.error ?? { code: status, message: 'The read daemon rejected the request without giving a reason.' }, retryAfter);
}

/** The value of a promise, or null if this token may not see it. */
export const unlessForbidden = (asked) => asked.catch((e) => {
  if (e instanceof Refusal && e.status === 403) return null;
  throw e;
});

export function withQuery(path, query) {
  const given = Object.entries(query ?? {}).filter(([, v]) => v !== undefined && v !== null && v !== '');
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** Reads a list to its end, to `most` elements, or to the first archived commit. pick returns the list in a response. */
export async function getList(path, query, pick, most, signal) {
  const all = [];
  let cursor;
  do {
    let answer;
    try {
      answer = await get(path, { ...query, cursor }, signal);
    } catch (e) {
      if (all.length > 0 && e instanceof Refusal && e.status === 410) return { all, more: false, archived: true };
      throw e;
    }
    for (const element of pick(answer)) all.push(element);
    cursor = answer.next_cursor ?? answer.data?.next_cursor;
  } while (cursor && all.length < most);
  return { all, more: Boolean(cursor) };
}

// classesOf requests each class only once, because classes rarely change. After a rename, the old
// name is shown until another read returns the class, such as the one for the list of classes.
const classes = new Map();

export const rememberClass = (c) => { classes.set(String(c.class_id), Promise.resolve(c)); };

/** The first thousand classes. */
export async function classesAll(signal) {
  const { data } = await get('/v1/read/classes', { limit: 1000 }, signal);
  data.classes.forEach(rememberClass);
  return data.classes;
}

/** The classes with these ids, as a Map by the id's text, without unknown ones. */
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
