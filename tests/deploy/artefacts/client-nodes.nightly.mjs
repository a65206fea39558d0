// Part of `npm run nightly`. Every build runs the same program on the oldest supported Node and on the pinned one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { installClient, runOn } from './installed-client.mjs';

const folder = mkdtempSync(join(tmpdir(), 'plant-shop-client-'));

before(() => installClient(folder), { timeout: 120_000 });
after(() => rmSync(folder, { recursive: true, force: true }));

for (const version of ['22.23.3', '24.21.0']) test(`the client runs on Node ${version}`, { timeout: 240_000 }, () => runOn(version, folder));
