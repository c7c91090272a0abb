// What the daemon measures of itself, in the words of its metrics.

import { ask } from './api.js';

/** The metrics as a Map from a name, with its labels, to the text of its value; null for those who may not see them. */
export async function metrics(signal) {
  const { ok, text } = await ask('/v1/metrics', null, signal);
  if (!ok) return null;
  return new Map(text.split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
    const at = line.lastIndexOf(' ');
    return [line.slice(0, at), line.slice(at + 1)];
  }));
}

/** The daemon's version, or null. */
export async function versionOf(signal) {
  const build = [...(await metrics(signal))?.keys() ?? []].find((name) => name.startsWith('asset_ledger_build_info{'));
  return /version="([^"]*)"/.exec(build ?? '')?.[1] ?? null;
}
