import { readdirSync } from 'node:fs';
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

const apps = readdirSync('apps');

/** Words of the shop. `libs/platform` holds mechanisms only: a word of this list there means a rule has strayed. */
const domainWords = ['plant', 'order', 'stock', 'username', 'session', 'image', 'category', 'inventory', 'webhook', 'shipment', 'payment', 'customer'];

/** Packages that may not be imported at all, and why. */
const never = {
  name: '@nestjs/microservices',
  importNames: ['ClientNats', 'EventPattern', 'Transport'],
  message: 'The transport is ours: libs/platform/src/rpc (docs/decisions/transport.md).',
};

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', '**/generated/**', '.data/**', '**/*.tsbuildinfo'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    // One program for all server code: a program per package takes a quarter more time.
    languageOptions: {
      parserOptions: { project: ['tsconfig.lint.json', 'apps/console/tsconfig.json', 'libs/client/tsconfig.json'], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true, allowEmpty: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      '@typescript-eslint/prefer-nullish-coalescing': 'off',
      '@typescript-eslint/consistent-type-definitions': 'off',
      'no-restricted-imports': ['error', { paths: [never] }],
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['**/*spec.ts', 'libs/testing/**/*.ts', 'libs/service-testing/**/*.ts', 'tests/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
    },
  },
  // Walls between teams: an app knows libs only, libs know no app, mechanisms know no domain word.
  ...apps.map((app) => ({
    files: [`apps/${app}/**/*.ts`, `apps/${app}/**/*.tsx`],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [never],
          patterns: apps
            .filter((other) => other !== app)
            .map((other) => ({
              regex: `(^@plant-shop/${other}(/|$))|(\\.\\./${other}/)|(apps/${other}(/|$))`,
              message: 'An app never imports another app: talk over its contract (libs/contracts).',
            })),
        },
      ],
    },
  })),
  {
    files: ['libs/**/*.ts', 'tests/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [never],
          patterns: [
            {
              regex: `(^@plant-shop/(${apps.join('|')})(/|$))|(/apps/)`,
              message: 'Only the app itself knows its insides: libs and black-box tests import no app.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['libs/platform/src/**/*.ts'],
    ignores: ['**/*spec.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: `Identifier[name=/(^(${domainWords.join('|')})|(${domainWords.map((word) => word[0].toUpperCase() + word.slice(1)).join('|')}))s?([A-Z_]|$)/]`,
          message: 'libs/platform knows no domain word: move the rule to the service that owns it.',
        },
      ],
    },
  },
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: {
      globals: Object.fromEntries(
        ['process', 'console', 'URL', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'fetch', 'AbortController', 'AbortSignal', 'Buffer', 'TextDecoder', 'WebSocket', 'performance', 'crypto', 'URLSearchParams', 'TextEncoder', 'btoa', 'location', 'sessionStorage', 'localStorage', 'document', 'window', 'history', 'dispatchEvent', 'PopStateEvent'].map((name) => [name, 'readonly']),
      ),
    },
  },
);
