import { join } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { filesBelow } from '../../tools/start/stamp.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { textOf } from './services.mjs';

/** Returns the names of all metrics that services expose: the default ones, and each name in a file that creates metrics. @returns {Set<string>} */
export function exposedMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const sources = ['apps', 'libs'].flatMap((folder) => filesBelow(join(ROOT, folder), /(?<!spec)\.ts$/)).map((path) => textOf(path.slice(ROOT.length + 1)));
  const makers = sources.filter((text) => /from 'prom-client'|platform\/service\/metrics'|from '\.\/metrics\.js'/.test(text));
  // Created as `new Counter({ name: '…'`, or by a function that takes the name as an argument.
  const names = makers.flatMap((text) => [...text.matchAll(/(?:name: |\(|, |^\s*)'([a-z]+(?:_[a-z]+)+)'/gm)].map(([, name = '']) => name));
  return new Set([...registry.getMetricsAsArray().map(({ name }) => name), ...names]);
}

/** Returns the metrics in a Prometheus query, without the suffixes of histograms. @param {string} query */
export function metricsOf(query) {
  const bare = query
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, '');
  const names = [...bare.matchAll(/\b[a-z_][a-z0-9_:]*\b(?!\s*\()/gi)].map(([name]) => name);
  return names.filter((name) => !['and', 'or', 'unless', 'bool'].includes(name)).map((name) => name.replace(/_(bucket|sum|count)$/, ''));
}
