// One search box for everything that has an id, a name, a code, an idempotency key
// or a number. It asks the daemon for matches and offers them.

import { h } from './dom.js';
import { get, classesAll, Gone, Refusal } from './api.js';

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/;
const keyPattern = /^[\x20-\x7e]{1,255}$/;
const idPattern = /^[1-9]\d{0,18}$/;
const pause = 150; // ms from a keystroke to the request
const most = 6;    // names offered of each kind

/** The matches of one read. What does not exist, or may not be seen with this token, is no match. An archived commit is a match. */
const orNone = (asked, of) => asked.then((a) => of(a.data)).catch((e) => {
  if (e instanceof Refusal && e.status === 410) return [match('commit', e.details.global_seq, 'archived', `#/commit/${e.details.global_seq}`)];
  if (e instanceof Refusal && e.status !== 401) return [];
  throw e;
});

const match = (kind, text, aside, hash) => ({ kind, text: String(text), aside, hash });
const containerMatch = (c) => match('container', c.name ?? c.container_id, c.name ? `${c.container_id}, ${c.kind}` : c.kind, `#/container/${c.container_id}`);
const classMatch = (c) => match('class', c.name, [c.code, c.class_id].filter(Boolean).join(', '), `#/class/${c.class_id}`);

/** Everything that a text may refer to, exact matches first. */
export async function find(typed, signal) {
  const id = typed.replace(/^#/, '');
  const read = (path, query, of) => orNone(get(path, query, signal), of);
  const asked = [];
  if (idPattern.test(id)) {
    const instance = read(`/v1/read/instance/${id}`, null, (d) => [match('instance', `#${id}`, `of class ${d.class_id}`, `#/instance/${id}`)]);
    if (typed.startsWith('#')) asked.push(instance);
    asked.push(
      read(`/v1/read/container/${id}`, null, (d) => [containerMatch(d)]),
      read(`/v1/read/class/${id}`, null, (d) => [classMatch(d)]),
      read(`/v1/read/commit/${id}`, null, (d) => [match('commit', id, d.operations[0]?.op, `#/commit/${id}`)]));
    if (!typed.startsWith('#')) asked.push(instance);
    asked.push(
      read(`/v1/read/hold/${id}`, null, (d) => [match('hold', id, `in container ${d.container_id}`, `#/container/${d.container_id}`)]),
      read('/v1/read/containers', { owner: id, limit: 1 }, (d) => (d.containers.length ? [match('owner', id, 'their containers', `#/containers?owner=${id}`)] : [])));
  } else if (namePattern.test(typed)) {
    asked.push(
      read(`/v1/read/container/${encodeURIComponent(typed)}`, null, (d) => [containerMatch(d)]),
      read(`/v1/read/class/${encodeURIComponent(typed)}`, null, (d) => [classMatch(d)]));
  }
  if (keyPattern.test(typed)) {
    asked.push(read('/v1/read/commits', { idempotency_key: typed }, (d) => d.commits.map((c) => match('commit', c.global_seq, `idempotency key ${typed}`, `#/commit/${c.global_seq}`))));
  }
  if (namePattern.test(typed) && !/^\d+$/.test(typed)) asked.push(read('/v1/read/containers', { prefix: typed, limit: most }, (d) => d.containers.map(containerMatch)));
  const part = typed.toLowerCase();
  asked.push(orNone(classesAll(signal).then((data) => ({ data })), (all) => all.filter((c) => `${c.name} ${c.code ?? ''}`.toLowerCase().includes(part)).slice(0, most).map(classMatch)));
  const found = (await Promise.all(asked)).flat();
  return found.filter((m, i) => found.findIndex((n) => n.hash === m.hash && n.kind === m.kind) === i);
}

/** Activates the form in the header. go opens an address. */
export function startFinder(go) {
  const form = document.getElementById('find'), input = form.elements.what, list = document.getElementById('found');
  let asking = null, timer = null, matches = [], active = -1, answered = '';

  const choose = (i) => {
    active = i;
    [...list.children].forEach((e, n) => e.setAttribute('aria-selected', String(n === active)));
    if (i < 0) input.removeAttribute('aria-activedescendant');
    else {
      input.setAttribute('aria-activedescendant', `match-${i}`);
      list.children[i].scrollIntoView({ block: 'nearest' });
    }
  };
  const close = () => {
    clearTimeout(timer);
    asking?.abort();
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    choose(-1);
  };
  const leave = (m) => {
    input.value = answered = '';
    matches = [];
    close();
    go(m.hash);
  };
  const show = (words) => {
    list.replaceChildren(...matches.map((m, i) => h('li', { id: `match-${i}`, role: 'option', 'aria-selected': 'false', onclick: () => leave(m) },
      h('span', { class: 'kind' }, m.kind), ' ', m.text, h('span', { class: 'aside' }, m.aside ?? ''))),
    ...(words ? [h('li', { class: 'nothing', role: 'option', 'aria-selected': 'false', 'aria-disabled': 'true' }, words)] : []));
    list.hidden = list.children.length === 0;
    input.setAttribute('aria-expanded', String(!list.hidden));
    document.getElementById('said').textContent = words || `${matches.length} found`;
    active = -1;
    input.removeAttribute('aria-activedescendant');
  };
  const ask = async () => {
    const typed = input.value.trim();
    asking?.abort();
    clearTimeout(timer);
    if (!typed) return close();
    asking = new AbortController();
    try {
      matches = await find(typed, asking.signal);
      answered = typed;
      show(matches.length ? '' : 'Nothing here has this id, name, code, idempotency key or number.');
    } catch (e) {
      if (e.name === 'AbortError') return undefined;
      matches = [];
      show(e instanceof Gone || e instanceof Refusal ? e.message : 'The search failed.');
    }
    return undefined;
  };

  input.oninput = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, pause);
  };
  input.onkeydown = (e) => {
    if (e.key === 'Escape') close();
    else if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && matches.length && !list.hidden) {
      e.preventDefault();
      const n = matches.length;
      choose(e.key === 'ArrowDown' ? (active + 1) % n : (active < 1 ? n : active) - 1);
    }
  };
  input.onblur = close;
  list.onpointerdown = (e) => e.preventDefault(); // keeps the focus, and with it the list
  form.onsubmit = async (e) => {
    e.preventDefault();
    if (answered !== input.value.trim() || list.hidden) await ask();
    const chosen = matches[Math.max(0, active)];
    if (chosen && answered === input.value.trim()) leave(chosen);
  };
  document.addEventListener('keydown', (e) => {
    if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, textarea, select')) return;
    e.preventDefault();
    input.focus();
    input.select();
  });
}
