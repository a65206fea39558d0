// Jest's test runner for compiled tests. Jest's own evaluates all modules again for each test file, two thousand for a service, from TypeScript and
// in a context of its own. This one lets Node import what `tsc -b` wrote, once in each of Jest's processes. All else is Jest's (jest-circus).
// Test files of one process share modules, so they must leave nothing behind in them.
import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
// @ts-expect-error -- it has no types
import circus from 'jest-circus/runner';
import { use } from './jest-globals.mjs';

const require = createRequire(import.meta.url);
const globals = new URL('jest-globals.mjs', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) => (specifier === '@jest/globals' ? { url: globals, shortCircuit: true } : next(specifier, context)),
});

/** @param {string} source */
const compiled = (source) => pathToFileURL(source.replace(/\/src\/(.*)\.ts$/, '/dist/$1.js')).href;

/**
 * Runs one file.
 * @param {object} globalConfig
 * @param {object} config
 * @param {import('./jest-globals.mjs').Environment} environment
 * @param {object} runtime of this file, whose ways to load modules are replaced
 * @param {string} testPath
 * @param {Function} send
 */
export default async function run(globalConfig, config, environment, runtime, testPath, send) {
  const variables = { ...process.env };
  let restore = () => {};
  Object.assign(runtime, {
    // The state of jest-circus is in its module: each file gets a new one.
    requireInternalModule: (/** @type {string} */ path) => {
      delete require.cache[path];
      Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS'));
      return require(path);
    },
    setGlobalsForRuntime: (/** @type {object} */ given) => (restore = use(given, environment, config)),
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (/** @type {string} */ path) => import(compiled(path)),
  });
  try {
    return await circus.default(globalConfig, config, environment, runtime, testPath, send);
  } finally {
    restore();
    process.env = variables;
  }
}
