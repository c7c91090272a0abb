// The page: a header that shows the current state, and one view at a time, chosen
// by the part of the address after #.
//
//	address changes → load the view → put it in place, move focus to its heading
//	new commits     → load it again, at most once a second → change only what differs

import { h, flat, morphChildren } from './dom.js';
import { Gone, Refusal, signIn, signOut, signedIn } from './api.js';
import { live, follow, onLive, retryNow } from './live.js';
import { overview } from './view_overview.js';
import { containers } from './view_containers.js';
import { container } from './view_container.js';
import { history } from './view_history.js';
import { classes, oneClass } from './view_classes.js';
import { holders, instances } from './view_holders.js';
import { instance } from './view_instance.js';
import { commits, commit } from './view_commits.js';
import { daemon } from './view_daemon.js';
import { digits } from './format.js';
import { startFinder } from './finder.js';
import { ageTimes } from './time.js';

const views = [overview, containers, container, history, classes, oneClass, holders, instances, instance, commits, commit, daemon];
const main = document.getElementById('main');
let current = null; // what is shown: {view, params, query, store, hash}
let loading = null; // the AbortController of a load in progress
let again = null;   // the timer of a postponed load

/** Parses an address such as #/containers?owner=7. */
function route(hash) {
  const [path, search] = hash.replace(/^#\/?/, '').split('?');
  for (const view of views) {
    const found = view.pattern.exec(path);
    if (found) return { hash, view, params: found.slice(1).map(decode), query: Object.fromEntries(new URLSearchParams(search ?? '')), store: {} };
  }
  return null;
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Shows the view of the address. Unlike a refresh, it moves the focus and scrolls up. */
function navigate() {
  current = route(location.hash);
  const section = current?.view.section ?? '';
  for (const a of document.querySelectorAll('nav.sections a')) {
    if (a.dataset.section === section) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  if (!current) {
    put([problem('There is no such page.', 'The address names nothing that this page can show.')], true, 'Not found');
    return;
  }
  main.classList.add('loading');
  load(true);
}

async function load(navigation) {
  loading?.abort();
  loading = new AbortController();
  const here = current, { signal } = loading;
  here.loadedAt = Date.now();
  if (navigation) here.pending = true;
  try {
    const nodes = await here.view.load({ ...here, signal, go, refresh: () => load(false) });
    if (signal.aborted || here !== current) return;
    put(nodes, here.pending, here.view.title(here.params));
  } catch (e) {
    if (signal.aborted || here !== current) return;
    if (e instanceof Gone && !here.pending) return; // the last view stays; the banner explains
    if (!(e instanceof Gone || e instanceof Refusal)) console.error(e);
    put([h('h1', { tabindex: -1 }, here.view.title(here.params)), refusal(e)], here.pending, here.view.title(here.params));
    if (e instanceof Gone) return; // keep pending, so that it is shown as a new view when the daemon is back
    clearTimeout(again);
    if (e.retryAfter > 0) again = setTimeout(() => here === current && load(false), e.retryAfter * 1000);
  }
  here.pending = false;
}

function put(nodes, navigation, title) {
  const fresh = h('main', null, nodes);
  if (navigation) main.replaceChildren(...flat(nodes));
  else morphChildren(main, fresh);
  main.classList.remove('loading');
  reachScrolled();
  document.title = `${title} · Asset ledger`;
  main.dataset.shown = current?.hash ?? location.hash;
  if (navigation && started) {
    window.scrollTo(0, 0);
    main.querySelector('h1')?.focus({ preventScroll: true });
  }
  started = true;
}
let started = false;

/** Makes tables that are wider than their boxes focusable with Tab, unless they contain a link, which is focusable already. */
function reachScrolled() {
  for (const e of main.querySelectorAll('.scroll')) {
    if (e.scrollWidth > e.clientWidth && !e.querySelector('a')) e.tabIndex = 0;
    else e.removeAttribute('tabindex');
  }
}
window.addEventListener('resize', reachScrolled);

const problem = (title, words, ...more) => h('div', { class: 'empty problem', role: 'alert' }, h('p', { class: 'title' }, title), h('p', null, words), more);

function refusal(e) {
  if (e instanceof Gone) return problem('No response.', `${e.message} This view appears as soon as the daemon responds.`);
  if (!(e instanceof Refusal)) return problem('This view failed.', 'A defect in the page; the console has the details.');
  if (e.status === 401) return signInForm(e);
  if (e.status === 403) return problem(e.message, h('code', null, e.code), h('p', null, h('a', { href: '#/containers' }, 'The containers that it may see')));
  return problem(e.message, h('code', null, e.code), nextStep(e));
}

/** What happens after an error response, or what to do about it. */
function nextStep(e) {
  if (e.status === 404) return h('p', { class: 'aside' }, 'It appears here once it exists.');
  if (e.status === 410) return h('p', { class: 'aside' }, e.details.first_seq && [h('a', { href: `#/commit/${e.details.first_seq}` }, 'The first commit here'), '. '], 'The operator of the ledger can move archived segments back.');
  if (e.retryAfter > 0) return h('p', { class: 'aside' }, `This view retries every ${e.retryAfter === 1 ? 'second' : `${e.retryAfter} s`}, and appears when it is ready.`);
  return null;
}

/** Shows the form for a token. With the token, it loads the view again. */
function signInForm(e) {
  const wrong = signedIn() && h('p', { class: 'wrong', role: 'alert', id: 'wrong' }, e.message);
  const onsubmit = (event) => {
    event.preventDefault();
    signIn(event.currentTarget.elements.token.value.trim());
    anew();
  };
  return h('form', { id: 'sign-in', class: 'panel', onsubmit }, h('h2', null, 'Sign in'),
    h('p', null, 'This ledger requires a token. It stays in this tab, and is forgotten when the tab is closed.'), wrong,
    h('label', { for: 'token' }, 'Token', h('input', { id: 'token', name: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true,
      'aria-invalid': wrong && 'true', 'aria-describedby': wrong && 'wrong' })),
    h('button', { class: 'chief' }, 'Sign in'),
    h('p', { class: 'hint' }, 'The operator of the ledger creates one with ', h('code', null, 'ledgerctl token new')));
}

/** Loads everything again, with another token or without one. */
function anew() {
  navigate();
  retryNow();
}

const out = document.getElementById('sign-out');
out.onclick = () => {
  signOut();
  anew();
};

const go = (hash) => { if (location.hash === hash) navigate(); else location.hash = hash; };

// New commits: at most one refresh a second, or as rarely as the view asks for.
let due = null;
function refreshSoon() {
  if (!current || due) return;
  const wait = (current.loadedAt ?? 0) + (current.view.every ?? 1000) - Date.now();
  due = setTimeout(() => {
    due = null;
    if (current && live.state === 'live') load(false);
  }, Math.max(0, wait));
}

// The header: the pill shows how fresh the page is, the banner that the daemon is unreachable.
const pill = document.getElementById('pill');
const banner = document.getElementById('banner');
let told = null;

function showLive() {
  const late = live.state === 'live' && String(live.lag) !== '0';
  pill.dataset.state = late ? 'late' : live.state;
  const words = {
    connecting: ['connecting'],
    gone: ['no response'],
    locked: ['signed out'],
    live: [document.querySelector('.note') ? 'as of commit ' : 'live, commit ', h('b', { id: 'seq' }, digits(live.applied ?? 0)), late ? [', ', digits(live.lag), ' behind'] : null],
  }[live.state];
  morphChildren(pill, h('span', null, h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span', null, words)));
  out.hidden = !signedIn() || live.state === 'locked';
  if (live.state === told && live.state !== 'gone') return;
  if (live.state === 'locked' && told === 'live') navigate(); // the token is no longer valid: replace the view
  if (live.state !== told) {
    document.body.classList.toggle('gone', live.state === 'gone');
    banner.hidden = live.state !== 'gone';
    if (live.state === 'gone') document.getElementById('why').textContent = `${live.why} What you see may be out of date.`;
    document.getElementById('said').textContent = live.state === 'live' && told === 'gone' ? 'The read daemon responds again.' : '';
    told = live.state;
  }
  showRetry();
}

function showRetry() {
  const left = Math.ceil((live.retryAt - Date.now()) / 1000);
  document.getElementById('retry').textContent = left > 0 ? `Trying again in ${left} s.` : 'Trying again…';
}

onLive((news) => {
  showLive();
  if (live.state === 'live' && news) refreshSoon();
});
setInterval(() => {
  if (document.hidden) return;
  ageTimes(main);
  if (live.state === 'gone') showRetry();
  else if (current) {
    current.view.tick?.(main);
    if (live.state === 'live' && Date.now() > current.loadedAt + current.view.poll) load(false);
  }
}, 1000);

document.getElementById('again').onclick = () => retryNow();
startFinder(go);
document.getElementById('skip').onclick = (e) => {
  e.preventDefault();
  main.focus();
};
window.addEventListener('hashchange', navigate);
navigate();
showLive();
follow();
