import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { SERVICES, textOf, yamlOf } from './services.mjs';

test('workflows pin actions to commits, and only jobs grant write permissions', () => {
  for (const file of readdirSync(join(ROOT, '.github/workflows'))) {
    const text = textOf(`.github/workflows/${file}`);
    const used = text.match(/uses: .*/g) ?? [];
    for (const line of used) assert.match(line, /^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, file);
    const { permissions } = yamlOf(`.github/workflows/${file}`);
    assert.ok(Object.entries(permissions).every(([name, level]) => name === 'contents' && level === 'read'), file);
  }
});

test('only a service tag starts a release', () => {
  assert.deepEqual(yamlOf('.github/workflows/release.yml').on, { push: { tags: SERVICES.map((service) => `${service}@*`) } });
});
