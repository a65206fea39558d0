// Alone, oxlint finds JSON and `oxlint.config.ts`. Node 20 reads no TypeScript, so `npm run lint` names this file; an editor must, too.
import { readdirSync } from 'node:fs';

const apps = readdirSync(new URL('apps', import.meta.url));

/** Sets rules of a plugin. @param {'error' | 'off'} level @param {string} plugin @param {string} names separated by white space */
const all = (level, plugin, names) => Object.fromEntries(names.trim().split(/\s+/).map((name) => [`${plugin}/${name}`, level]));

/** What may not be imported at all, and why. */
const never = [
  {
    name: '@nestjs/microservices',
    importNames: ['ClientNats', 'EventPattern', 'Transport'],
    message: 'The transport is ours: libs/platform/src/rpc (docs/decisions/transport.md).',
  },
  { name: '@tanstack/react-query', importNames: ['useMutation'], message: 'A double click would repeat it: useChange (apps/console/src/ui/use-change.ts).' },
  { name: '@mantine/core', importNames: ['NumberInput'], message: 'It changes what is typed: WholeNumberInput (apps/console/src/ui/whole-number-input.tsx).' },
  { name: '@mantine/core', importNames: ['Modal'], message: 'It closes while its request is under way: Dialog (apps/console/src/ui/dialog.tsx).' },
];

/**
 * Forbids to import `never` and what fits a pattern.
 * @param {{ regex: string, message: string }[]} patterns
 * @returns {import('oxlint').DummyRuleMap}
 */
const forbidden = (...patterns) => ({ 'no-restricted-imports': ['error', { paths: never, patterns }] });

/** @type {import('oxlint').OxlintConfig} */
export default {
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['**/dist/**', '**/node_modules/**', '**/generated/**', '.data/**', '**/*.tsbuildinfo'],
  plugins: ['typescript', 'oxc'],
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    ...all('error', 'eslint', `
      no-array-constructor no-case-declarations no-empty no-fallthrough no-prototype-builtins no-redeclare no-regex-spaces no-useless-assignment no-var
      prefer-rest-params prefer-spread`),
    // Without options, unused names that begin with `_` would be allowed.
    'no-unused-vars': ['error', { args: 'after-used' }],
    'no-irregular-whitespace': ['error', { skipJSXText: false, skipRegExps: false, skipTemplates: false }],
    'typescript/no-extraneous-class': ['error', { allowWithDecorator: true, allowEmpty: true }],
    // Some constructors register what they construct, and some loops wait for another function to end them.
    ...all('off', 'eslint', 'no-new no-shadow no-underscore-dangle no-unmodified-loop-condition'),
    ...all('off', 'typescript', 'consistent-return no-unsafe-type-assertion require-array-sort-compare'),
    // Only Express, which nothing here uses, loses the error.
    'oxc/no-async-endpoint-handlers': 'off',
  },
  overrides: [
    {
      files: ['**/*.ts', '**/*.tsx', '**/*.mts'],
      rules: {
        // The rest of what typescript-eslint calls strict, then of what it calls stylistic.
        ...all('error', 'typescript', `
          no-deprecated no-dynamic-delete no-empty-object-type no-explicit-any no-invalid-void-type no-misused-promises no-mixed-enums no-namespace
          no-non-null-assertion no-require-imports no-unsafe-argument no-unsafe-assignment no-unsafe-call no-unsafe-function-type
          no-unsafe-member-access no-unsafe-return only-throw-error prefer-literal-enum-member prefer-promise-reject-errors
          prefer-reduce-type-parameter prefer-return-this-type related-getter-setter-pairs unified-signatures
          use-unknown-in-catch-callback-variable

          adjacent-overload-signatures array-type ban-tslint-comment class-literal-property-style consistent-generic-constructors
          consistent-indexed-object-style consistent-type-assertions dot-notation no-inferrable-types non-nullable-type-assertion-style prefer-find
          prefer-for-of prefer-function-type prefer-includes prefer-optional-chain prefer-regexp-exec prefer-string-starts-ends-with`),
        'typescript/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
        'typescript/explicit-module-boundary-types': 'error',
        'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
        'typescript/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
        'typescript/restrict-plus-operands': ['error', { allowAny: false, allowBoolean: false, allowNullish: false, allowNumberAndString: false, allowRegExp: false }],
        'typescript/return-await': ['error', 'error-handling-correctness-only'],
        'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
        'no-console': 'error',
        'no-empty-function': 'error',
        'prefer-const': 'error',
        eqeqeq: 'error',
        ...forbidden(),
      },
    },
    {
      files: ['**/*spec.ts', 'libs/testing/**/*.ts', 'libs/service-testing/**/*.ts', 'tests/**/*.ts'],
      rules: all('off', 'typescript', 'no-non-null-assertion no-unsafe-argument no-unsafe-assignment no-unsafe-member-access'),
    },
    // Walls between teams: an app knows libs only, libs know no app, mechanisms know no domain word.
    ...apps.map((app) => ({
      files: [`apps/${app}/**/*.ts`, `apps/${app}/**/*.tsx`],
      rules: forbidden(
        ...apps
          .filter((other) => other !== app)
          .map((other) => ({
            regex: `(^@plant-shop/${other}(/|$))|(\\.\\./${other}/)|(apps/${other}(/|$))`,
            message: 'An app never imports another app: talk over its contract (libs/contracts).',
          })),
      ),
    })),
    {
      files: ['libs/**/*.ts', 'tests/**/*.ts'],
      rules: forbidden({
        regex: `(^@plant-shop/(${apps.join('|')})(/|$))|(/apps/)`,
        message: 'Only the app itself knows its insides: libs and black-box tests import no app.',
      }),
    },
    {
      files: ['libs/platform/src/**/*.ts'],
      excludeFiles: ['**/*spec.ts'],
      jsPlugins: ['./tools/lint/domain-words.mjs'],
      rules: { 'plant-shop/no-domain-word': 'error' },
    },
    {
      files: ['{apps/console,examples/storefront}/**/*.{ts,tsx}'],
      plugins: ['react'],
      // The others check what React's compiler needs, which does not compile the console, or take a row of facts for a list of elements.
      rules: all('off', 'react', 'exhaustive-effect-dependencies immutability incompatible-library jsx-key purity react-in-jsx-scope refs set-state-in-effect'),
    },
    {
      files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
      env: { node: true },
      rules: {
        'no-undef': 'error',
        // Node's runner awaits its tests itself.
        'typescript/no-floating-promises': ['error', { allowForKnownSafeCalls: [{ from: 'package', package: 'node:test', name: ['after', 'afterEach', 'before', 'beforeEach', 'describe', 'test'] }] }],
        // oxlint reads the types of scripts without the options of tsconfig.scripts.json, so these misjudge them.
        ...all('off', 'typescript', `
          no-base-to-string no-misused-spread no-redundant-type-constituents no-unnecessary-boolean-literal-compare no-unnecessary-template-expression
          no-unnecessary-type-assertion no-useless-default-assignment restrict-template-expressions`),
      },
    },
    {
      // These run in a browser, or contain functions that do. tsc would take a forgotten declaration of these names for the browser's.
      files: ['apps/console/**/*.js', 'tests/console/**', 'tests/load/goals/console.mjs'],
      env: { browser: true },
      rules: { 'no-restricted-globals': ['error', 'event', 'length', 'name', 'status'] },
    },
  ],
};
