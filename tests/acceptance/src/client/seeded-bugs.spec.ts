import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as library from '@plant-shop/client';
import { createPlant } from '../shop.js';
import { followThroughKills, type Library, placeThroughFaults } from './guarantees.js';

// Proves that the guarantees are really tested: plausible bugs are seeded in a copy of the library and must be detected.

const folder = fileURLToPath(new URL('../../../../libs/client/', import.meta.url));
const copies: string[] = [];

/** Loads a copy of the library with one edit of a built file, which must contain `find` exactly once. */
async function withBug(name: string, file: string, find: string, replace: string): Promise<Library> {
  // Inside the package, so that its dependencies resolve.
  const copy = `${folder}node_modules/.bugs/${name}`;
  copies.push(copy);
  cpSync(`${folder}dist`, copy, { recursive: true });
  const text = readFileSync(`${copy}/${file}`, 'utf8');
  expect(text.split(find)).toHaveLength(2);
  writeFileSync(`${copy}/${file}`, text.replace(find, () => replace));
  return (await import(pathToFileURL(`${copy}/index.js`).href)) as Library;
}

afterEach(() => {
  for (const copy of copies.splice(0)) rmSync(copy, { recursive: true });
});

describe('the guarantees of the client library', () => {
  let plantId = 0;
  beforeAll(async () => {
    ({ id: plantId } = await createPlant({ quantity: 10_000 }));
  });
  const plant = async (): Promise<number> => (await createPlant({ quantity: 10_000 })).id;

  it('hold: orders are placed once, and events are handled once', async () => {
    expect(await placeThroughFaults(library, await plant(), 60)).toEqual([]);
    expect(await followThroughKills(library, plantId, 8)).toEqual([]);
  }, 180_000);

  it('are broken by a library that repeats calls without their key', async () => {
    const buggy = await withBug('no-key', 'transport.js', 'const headers = new Headers(call.headers);', "const headers = new Headers(call.headers); headers.delete('idempotency-key');");
    expect((await placeThroughFaults(buggy, await plant(), 60)).join()).toContain('never answered');
  }, 180_000);

  it('are broken by a library that moves the cursor before the consumer has handled the event', async () => {
    const buggy = await withBug('early-cursor', 'events.js', 'this.given = message.cursor;', 'this.given = this.cursor = message.cursor;');
    expect((await followThroughKills(buggy, await plant(), 8, { limitMs: 10_000 })).join()).toMatch(/order \d+: (nothing|approved|delivered)/);
  }, 180_000);
});
