import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as library from '@plant-shop/client';
import { createPlant } from '../shop.js';
import { followThroughKills, type Library, placeThroughFaults } from './promises.js';

// A check that never says no proves nothing: bugs that the library could have are made in a copy of it, and must be noticed.

const folder = fileURLToPath(new URL('../../../../libs/client/', import.meta.url));
const copies: string[] = [];

/** The library with one change of a built file. The text must be there exactly once. */
async function withBug(name: string, file: string, find: string, replace: string): Promise<Library> {
  // Below the package, where its dependencies are found.
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

describe('the promises of the client library', () => {
  let plantId = 0;
  beforeAll(async () => {
    ({ id: plantId } = await createPlant({ quantity: 10_000 }));
  });
  const plant = async (): Promise<number> => (await createPlant({ quantity: 10_000 })).id;

  it('hold: orders are placed once, and events are handled once', async () => {
    expect(await placeThroughFaults(library, await plant(), 60)).toEqual([]);
    expect(await followThroughKills(library, plantId, 8)).toEqual([]);
  }, 180_000);

  it('do not hold when a call is repeated without its key', async () => {
    const buggy = await withBug('no-key', 'transport.js', 'const headers = new Headers(call.headers);', "const headers = new Headers(call.headers); headers.delete('idempotency-key');");
    expect((await placeThroughFaults(buggy, await plant(), 60)).join()).toContain('told to nobody');
  }, 180_000);

  it('do not hold when the cursor is kept before the consumer has taken the event', async () => {
    const buggy = await withBug('early-cursor', 'events.js', 'this.given = message.cursor;', 'this.given = this.cursor = message.cursor;');
    expect((await followThroughKills(buggy, await plant(), 8, { limitMs: 10_000 })).join()).toMatch(/order \d+: (nothing|approved|delivered)/);
  }, 180_000);
});
