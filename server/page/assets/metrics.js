// The daemon's own metrics.

import { ask } from './api.js';

/** The metrics as a Map from a name with its labels to the text of its value; null if the daemon rejects the request, as for a token that may not see them. */
export async function metrics(signal) {
  const { ok, text } = await ask('/v1/metrics', null, signal);
  if (!ok) return null;
  return new Map(text.split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
    const at = line.lastIndexOf(' ');
    return [line.slice(0, at), line.slice(at + 1)];
  }));
}

/** The upper bound of the bucket with the 99th percentile of a histogram, in seconds; undefined if it has no values. */
export function mostBelow(measured, name) {
  const all = Number(measured.get(`${name}_count`));
  if (!all) return undefined;
  for (const [key, value] of measured) {
    const bound = key.startsWith(`${name}_bucket{`) && /le="([^"]*)"/.exec(key);
    if (bound && Number(value) >= 0.99 * all) return bound[1] === '+Inf' ? Infinity : Number(bound[1]);
  }
  return undefined;
}
