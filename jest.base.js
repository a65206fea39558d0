// One Jest project per package. Tests are TypeScript run as native ES modules; libs are imported as their built output,
// which is why every test script builds first.

/** Real servers, on machines that do other things as well: a limit finds what hangs, and measures nothing. */
export const limitMs = 30_000;

/** @param {string} name shown before each test file */
export function project(name) {
  return {
    displayName: name,
    testEnvironment: 'node',
    testTimeout: limitMs,
    testMatch: ['<rootDir>/src/**/*spec.ts', '<rootDir>/test/**/*spec.ts'],
    extensionsToTreatAsEsm: ['.ts'],
    moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
    transform: {
      '^.+\\.ts$': [
        '@swc/jest',
        {
          jsc: {
            target: 'es2022',
            parser: { syntax: 'typescript', decorators: true },
            transform: { legacyDecorator: true, decoratorMetadata: true },
          },
          module: { type: 'es6' },
          sourceMaps: 'inline',
        },
      ],
    },
  };
}
