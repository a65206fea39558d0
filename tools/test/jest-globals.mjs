// What compiled tests import as `@jest/globals`: the functions of the test file that runs now.

/**
 * The members used of Jest's environment: classes of mocks and timers. Its own instances would replace those of its own context.
 * @typedef {{ moduleMocker: { constructor: Function }, fakeTimersModern: { constructor: Function } }} Environment
 */

/** @type {Record<string, any>} */
let current = {};

/**
 * Called before each test file. Returns a function to call after it: what it faked is real again.
 * @param {object} globals
 * @param {Environment} environment
 * @param {object} config of the project
 */
export function use(globals, { moduleMocker, fakeTimersModern }, config) {
  const mocker = Reflect.construct(moduleMocker.constructor, [globalThis]);
  const timers = Reflect.construct(fakeTimersModern.constructor, [{ config, global: globalThis }]);
  const memberOf = (/** @type {any} */ owner, /** @type {string | symbol} */ name) => owner[name].bind(owner);
  const jest = new Proxy({}, { get: (_, name) => memberOf(name in mocker ? mocker : timers, name) });
  current = { ...globals, jest };
  return () => {
    timers.useRealTimers();
    mocker.restoreAllMocks();
  };
}

/** @param {string} name */
const currently = (name) =>
  new Proxy(() => {}, {
    apply: (_, of, args) => Reflect.apply(current[name], of, args),
    get: (_, member) => current[name][member],
  });

export const afterAll = currently('afterAll');
export const afterEach = currently('afterEach');
export const beforeAll = currently('beforeAll');
export const beforeEach = currently('beforeEach');
export const describe = currently('describe');
export const expect = currently('expect');
export const it = currently('it');
export const jest = currently('jest');
export const test = currently('test');
