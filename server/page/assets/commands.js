// The current view as commands: the same read with curl and with ledgerctl.

import { h } from './dom.js';
import { signedIn, withQuery } from './api.js';

// Paths, and the ledgerctl commands for them.
const words = [
  [/^\/v1\/read\/container\/([^/]+)\/history$/, 'history'],
  [/^\/v1\/read\/container\/([^/]+)\/(balances|slots|grid|holds)$/, 'read $2'],
  [/^\/v1\/read\/class\/([^/]+)\/(stats|shapes|holders|instances)$/, 'read $2'],
  [/^\/v1\/read\/(container|class|instance|commit)\/([^/]+)$/, 'read $1'],
  [/^\/v1\/read\/(containers|classes|commits|freshness)$/, 'read $1'],
  [/^\/v1\/health$/, 'health'],
];

// Parameters whose flags have a different name, and those flags.
const flags = {
  at_seq: 'at', at_time: 'at', from_seq: 'from', from_time: 'from', to_seq: 'to', to_time: 'to', instance_id: 'instance', container_id: 'container', class_id: 'class',
};

/** A word, quoted for a shell. */
const quoted = (word) => (/^[\w.:/@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

const curl = (path, query) => ['curl', '-s', ...(signedIn() ? ['-H', '"Authorization: Bearer $LEDGER_TOKEN"'] : []), quoted(location.origin + withQuery(path, query))].join(' ');

/** The ledgerctl command line for a read, null if there is none. */
function ledgerctl(path, query) {
  for (const [pattern, command] of words) {
    const found = pattern.exec(path);
    if (!found) continue;
    const verb = command.replace(/\$(\d)/, (_, n) => found[n]);
    const named = command.includes('$1') ? found[2] : found[1];
    const given = Object.entries(query ?? {}).filter(([, v]) => v !== undefined && v !== null && v !== '');
    const newest = given.some(([name]) => name === 'order');
    const line = ['ledgerctl', verb, ...(named && pattern.source.includes('([^/]+)') ? [quoted(decodeURIComponent(named))] : [])];
    for (const [name, value] of given) {
      if (name === 'order') continue;
      if (name === 'key') line.push(verb === 'history' ? '-key' : '-stack-key', quoted(value));
      else if (name === 'limit' && newest) line.push('-last', String(value));
      else line.push(`-${flags[name] ?? name.replaceAll('_', '-')}`, quoted(String(value)));
    }
    line.push('-read-url', quoted(location.origin));
    return line.join(' ');
  }
  return null;
}

const said = (text) => { document.getElementById('said').textContent = text; };

// The line is also selected, because browsers let a page copy only over HTTPS or on localhost.
function copy(code) {
  getSelection().selectAllChildren(code);
  if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(() => said('Copied.'), () => said('Selected.'));
  else said('Selected.');
}

const copyLine = (kind, line) => line && h('div', { class: 'command' }, h('code', null, line),
  h('button', { 'aria-label': `Copy as ${kind}`, onclick: (e) => copy(e.currentTarget.parentNode.querySelector('code')) }, 'Copy'));

/** A section that shows reads as commands; each read is [path, query]. */
export const commands = (...reads) => h('details', { class: 'commands' }, h('summary', null, 'Copy as curl, or ledgerctl'),
  reads.filter(Boolean).map(([path, query]) => [copyLine('curl', curl(path, query)), copyLine('ledgerctl', ledgerctl(path, query))]));
