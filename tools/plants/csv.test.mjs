import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLUMNS, header, plantOf, recordOf, recordsOf } from './csv.mjs';

/** @param {string} text @param {number} size */
async function* cut(text, size) {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}
const plants = [
  { id: 7, name: 'Monstera', photoUrls: [], tags: [], status: 'available' },
  { id: 8, name: 'a, "b"\nc', category: { id: 3, name: 'x|y: z' }, photoUrls: ['https://a.test/1|2', 'https://a.test/\\'], tags: [{ id: 1, name: 'a|b' }, { id: 2, name: '"\\' }], status: 'sold' },
  { id: 9, name: ' x ', category: { id: 4 }, photoUrls: [], tags: [], status: 'pending' },
];

test('a round trip through CSV preserves plants, however the file is cut into pieces', async () => {
  const text = `\ufeff${header()}${plants.map(recordOf).join('')}`;
  for (const size of [1, 2, 7, 1_000]) {
    const [names = [], ...records] = await Array.fromAsync(recordsOf(cut(text, size)));
    assert.deepEqual(names, [...COLUMNS]);
    const read = records.map((record) => ({ photoUrls: [], tags: [], ...plantOf(names, record) }));
    assert.deepEqual(read, plants);
  }
});

test('columns, tag ids and the last line end may be missing', async () => {
  const [names = [], record = []] = await Array.fromAsync(recordsOf(cut('name,id,tags,quantity\nFern,5,shade|wet,12', 3)));
  assert.deepEqual(plantOf(names, record), { name: 'Fern', id: 5, tags: [{ name: 'shade' }, { name: 'wet' }], quantity: 12 });
});

test('a value that is not a number stays text, for the shop to refuse', () => {
  assert.deepEqual(plantOf(['id', 'name'], ['x1', 'Fern']), { id: 'x1', name: 'Fern' });
});

test('a file that ends inside quotes is refused', async () => {
  await assert.rejects(Array.fromAsync(recordsOf(cut('id,name\n1,"x', 4))), /inside quotes/);
});
