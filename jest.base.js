// One Jest project per package. Tests run as the build compiles them (`tools/test/jest-runner.mjs`), which is why every test script builds first.
import { fileURLToPath } from 'node:url';

/** Real servers, on machines that do other things as well: a limit finds what hangs, and measures nothing. */
export const limitMs = 30_000;

/** @param {string} name shown before each test file */
export function project(name) {
  return {
    displayName: name,
    testEnvironment: 'node',
    testTimeout: limitMs,
    testMatch: ['<rootDir>/src/**/*spec.ts'],
    testRunner: fileURLToPath(new URL('tools/test/jest-runner.mjs', import.meta.url)),
    transform: {},
  };
}
