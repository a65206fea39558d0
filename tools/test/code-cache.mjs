// Preloaded into Jest's processes: caches V8's compiled code of each module. Jest evaluates all modules again for each test file, two thousand
// for a service; a third of that time is compilation.
import vm from 'node:vm';

/** @typedef {{ code: string, data: NodeJS.ArrayBufferView }} Compiled */

/** CommonJS modules, by file and the names of the function's parameters. @type {Map<string, Compiled>} */
const functions = new Map();
/** ES modules, by file. @type {Map<string, Compiled>} */
const modules = new Map();

const { compileFunction, SourceTextModule } = vm;

/** V8 also accepts data of other code of the same length. @param {Compiled | undefined} known @param {string} code */
const dataOf = (known, code) => (known?.code === code ? known.data : undefined);

/** @type {typeof compileFunction} */
const compileCached = (code, params, options) => {
  const key = `${options?.filename} ${params?.join()}`;
  const cachedData = dataOf(functions.get(key), code);
  if (cachedData) {
    const compiled = compileFunction(code, params, { ...options, cachedData });
    // V8 rejects data from before its flags were changed, as some tests do.
    if (compiled.cachedDataRejected) functions.delete(key);
    return compiled;
  }
  const compiled = compileFunction(code, params, { ...options, produceCachedData: true });
  if (compiled.cachedData) functions.set(key, { code, data: compiled.cachedData });
  return compiled;
};

/** Constructs a module. Called with `new`, like the class. @param {string} code @param {vm.SourceTextModuleOptions} [options] */
function CachedModule(code, options = {}) {
  const key = String(options.identifier);
  const cachedData = dataOf(modules.get(key), code);
  try {
    if (cachedData) return new SourceTextModule(code, { ...options, cachedData });
  } catch {
    // Rejected, as above. If the code is at fault, it fails again below.
    modules.delete(key);
  }
  // The types of Node lack `createCachedData`.
  const module = /** @type {vm.SourceTextModule & { createCachedData(): Buffer }} */ (new SourceTextModule(code, options));
  modules.set(key, { code, data: module.createCachedData() });
  return module;
}
CachedModule.prototype = SourceTextModule.prototype;

Object.assign(vm, { compileFunction: compileCached, SourceTextModule: CachedModule });
