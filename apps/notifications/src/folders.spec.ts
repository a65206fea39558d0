import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const source = join(import.meta.dirname, '../src');

/** Returns files of `folder` that import a file of `other`, both relative to `source`. */
function importsOf(folder: string, other: string): string[] {
  const files = readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return files.filter((file) => {
    const path = join(source, folder, file);
    const imported = readFileSync(path, 'utf8').matchAll(/(?:from|import) '(\.[^']+)'/g);
    return [...imported].some(([, to]) => join(path, '..', to ?? '').startsWith(`${join(source, other)}/`));
  });
}

describe('the folders of notifications', () => {
  it.each([
    ['log', 'stream'],
    ['log', 'webhooks'],
    ['stream', 'webhooks'],
    ['webhooks', 'stream'],
    ['webhooks', 'mail'],
    ['stream', 'mail'],
    ['mail', 'stream'],
    ['log', 'export'],
    ['webhooks', 'export'],
    ['mail', 'export'],
    ['export', 'mail'],
    ['export', 'webhooks/sending'],
    ['mail', 'webhooks/endpoints'],
    ['stream/broadcast', 'stream/subscribers'],
    ['stream/subscribers', 'stream/transport'],
    ['webhooks/queue', 'webhooks/endpoints'],
    ['webhooks/queue', 'webhooks/sending'],
    ['webhooks/endpoints', 'webhooks/sending'],
  ])('%s imports nothing of %s', (folder, other) => {
    expect(importsOf(folder, other)).toEqual([]);
  });

  it('have imports that this test can find: sending imports the queue', () => {
    expect(importsOf('webhooks/sending', 'webhooks/queue')).toContain('delivery-worker.ts');
  });
});
