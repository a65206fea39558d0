import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT } from '../start/toolchain.mjs';

const ANY_MEMBER = `export const idOf = (text: string): unknown => JSON.parse(text).id;`;
const CONSOLE = `console.log('here');`;
const GOOD = `export const twice = (count: number): number => 2 * count;`;
const FLOATING = `const save = async () => 1;\nsave();`;
const TRANSPORT = `export { Transport } from '@nestjs/microservices';`;
const UNUSED = `const _unused = 1;\nexport {};`;

/** @type {Record<string, [code: string, ...rules: string[]]>} code and expected findings, by file */
const FILES = {
  'apps/store/src/good.ts': [GOOD],
  'apps/store/src/floating-promise.ts': [`${FLOATING}\nexport {};`, 'typescript(no-floating-promises)'],
  'apps/store/src/unused-variable.ts': [UNUSED, 'eslint(no-unused-vars)'],
  'apps/store/src/any-member.ts': [ANY_MEMBER, 'typescript(no-unsafe-member-access)'],
  'apps/store/src/any-member.spec.ts': [ANY_MEMBER],
  'apps/store/src/condition.ts': [`export const lengthOf = (text: string): number => text?.length;`, 'typescript(no-unnecessary-condition)'],
  'apps/store/src/switch.ts': [
    `export function sizeOf(size: 's' | 'm'): number | undefined {\n  switch (size) {\n    case 's':\n      return 1;\n  }\n  return undefined;\n}`,
    'typescript(switch-exhaustiveness-check)',
  ],
  'apps/store/src/console.ts': [CONSOLE, 'eslint(no-console)'],
  'apps/store/src/transport.ts': [TRANSPORT, 'eslint(no-restricted-imports)'],
  'apps/store/src/other-app.ts': [`import { twice } from '@plant-shop/catalog';\nexport { twice };`, 'eslint(no-restricted-imports)'],
  'apps/store/src/path-of-other-app.ts': [`export { twice } from '../../catalog/src/good.js';`, 'eslint(no-restricted-imports)'],
  'apps/store/src/own-parts.ts': [`export { twice } from './good.js';`],
  'apps/store/src/domain-word.ts': [`export const placeOrder = 1;`],
  'apps/console/src/hook.tsx': [
    `declare function useId(): string;\nexport function Name({ name }: { readonly name?: string }): string {\n  return name ?? useId();\n}`,
    'react(hooks)',
  ],
  'libs/events/src/of-app.ts': [`export { twice } from '@plant-shop/store/src/good.js';`, 'eslint(no-restricted-imports)'],
  'libs/events/src/transport.ts': [TRANSPORT, 'eslint(no-restricted-imports)'],
  'libs/platform/src/domain-word.ts': [`interface Parcel {\n  readonly orderIds: number;\n}\nexport const sizeOf = (parcel: Parcel): number => parcel.orderIds;`, 'plant-shop(no-domain-word)', 'plant-shop(no-domain-word)'],
  'libs/platform/src/other-word.ts': [`export const border = 'ordering';`],
  'libs/platform/src/domain-word.spec.ts': [`export const placeOrder = 1;`],
  'tests/acceptance/src/of-app.ts': [`export { twice } from '../../../apps/store/src/good.js';`, 'eslint(no-restricted-imports)'],
  'tools/script.mjs': [`${UNUSED}\n${CONSOLE}`, 'eslint(no-unused-vars)'],
  'tools/forgotten.mjs': [`export const named = { name, ...document };`, 'eslint(no-undef)', 'eslint(no-undef)'],
  'tests/console/forgotten.mjs': [`export const named = { name, ...document };`, 'eslint(no-restricted-globals)'],
  'tools/floating-promise.mjs': [FLOATING, 'typescript(no-floating-promises)'],
  'apps/store/src/generated/types.ts': [CONSOLE],
  'apps/store/dist/good.js': [UNUSED],
};

test('lint reports every forbidden construct, and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-lint-'));
  try {
    write(folder, Object.fromEntries(Object.entries(FILES).map(([file, [code]]) => [file, `${code}\n`])));
    // The rule against imports from other apps depends on the folders in apps.
    for (const app of ['catalog', 'store']) write(folder, { [`apps/${app}/src/good.ts`]: `${GOOD}\n` });
    write(folder, { 'tsconfig.json': JSON.stringify({ extends: join(ROOT, 'tsconfig.base.json'), include: ['apps', 'libs', 'tests'], compilerOptions: { types: [] } }) });
    write(folder, { 'apps/globals.d.ts': 'declare const console: { log(text: string): void };\n' });
    for (const path of ['oxlint.config.mjs', 'tools/lint/domain-words.mjs']) cpSync(join(ROOT, path), join(folder, path));
    const findings = await lint(folder);
    const rules = Object.fromEntries(Object.keys(FILES).map((file) => [file, findings.filter(({ filename }) => filename === file).map(({ code }) => code)]));
    assert.deepEqual(rules, Object.fromEntries(Object.entries(FILES).map(([file, [, ...expected]]) => [file, expected])));
    assert.deepEqual(findings.filter(({ filename }) => !(filename in FILES)), []);
    const [word] = findings.filter(({ code }) => code === 'plant-shop(no-domain-word)');
    assert.match(word?.message ?? '', /`orderIds`.*libs\/platform knows no domain word: move the rule to the service that owns it\./);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** @param {string} folder @param {Record<string, string>} files their text, by path */
function write(folder, files) {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}

/** @param {string} folder @returns {Promise<{ filename: string, code: string, message: string }[]>} */
async function lint(folder) {
  const args = [join(ROOT, 'node_modules/oxlint/bin/oxlint'), '--config', 'oxlint.config.mjs', '--format', 'json'];
  // Otherwise oxlint looks for this program in the folder. A link to node_modules there makes it read all types in it, for two seconds.
  const env = { ...process.env, OXLINT_TSGOLINT_PATH: join(ROOT, 'node_modules/.bin/tsgolint') };
  /** @type {{ stdout: string, code?: number }} */
  const { stdout, code } = await promisify(execFile)(process.execPath, args, { cwd: folder, env }).catch((error) => error);
  assert.equal(code, 1, stdout);
  return JSON.parse(stdout).diagnostics;
}
