import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../start/toolchain.mjs';
import { SERVICES } from '../start/services.mjs';

const paths = readFileSync(join(ROOT, 'CODEOWNERS'), 'utf8').split('\n').filter((line) => line.startsWith('/')).map((line) => line.split(/\s+/)[0] ?? '');

test('every service has an owner, with its manifests', () => {
  for (const service of SERVICES) for (const path of [`/apps/${service}/`, `/deploy/${service}/`]) assert.ok(paths.includes(path), path);
});

test('nobody owns what is not there', () => {
  for (const path of paths) assert.ok(path.endsWith('*') || existsSync(join(ROOT, path)), path);
});
