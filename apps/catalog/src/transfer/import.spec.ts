import { describe, expect, it } from '@jest/globals';
import type { PlantState } from '../plants/plant.js';
import { changeOf, identified, refuseTakenExternalIds, resultOf, rounds, validateLines } from './import.js';

const monstera: PlantState = {
  id: 7,
  incarnation: 1,
  version: 3,
  name: 'Monstera',
  category: { id: 4, name: 'Foliage' },
  photoUrls: ['https://photos.test/1'],
  tags: [{ id: 9, name: 'shade' }],
  status: 'sold',
  externalId: 'E-7',
  metadata: { colour: 'red', size: 'L' },
  updatedAt: new Date(0),
};
const line = (plant: object, number = 0) => ({ line: number, plant: { id: 7, name: 'Monstera', ...plant } });
const labels = new Map([
  ['tag:shade', 9],
  ['category:Foliage', 4],
]);

describe('a line of an import', () => {
  it('is validated independently of the others', () => {
    const { valid, refused } = validateLines(['{"id":1,"name":"a","extra":1}', '{"id":', '[]', '{"id":"1","name":"a"}', '{"id":2,"name":"b","tags":{}}', '{"name":"c"}', '{"id":0,"name":"d"}', '{"id":3,"name":"e"}']);
    expect(valid.map(({ line: number, plant }) => [number, plant.id])).toEqual([
      [0, 1],
      [7, 3],
    ]);
    expect(valid[0]?.plant).not.toHaveProperty('extra');
    expect([...refused].map(([number, result]) => [number, 'refused' in result && result.refused.code])).toEqual([
      [1, 'malformed-json'],
      [2, 'invalid-input'],
      [3, 'invalid-input'],
      [4, 'invalid-input'],
      [5, 'invalid-input'],
      [6, 'invalid-input'],
    ]);
    expect(refused.get(5)).toMatchObject({ refused: { errors: [{ pointer: '/id' }] } });
  });

  it('creates a plant with a new id', () => {
    expect(changeOf(line({ quantity: 3 }), undefined, labels, true)).toMatchObject({ kind: 'created', id: 7, units: 3, attributes: { status: 'available', tags: [] } });
  });

  it('replaces all attributes of an existing plant, except an omitted status', () => {
    expect(changeOf(line({ quantity: 3 }), monstera, labels, true)).toMatchObject({
      kind: 'updated',
      after: { id: 7, version: 3, category: null, photoUrls: [], tags: [], status: 'sold' },
    });
  });

  it('is refused with a quantity for an existing plant if the caller may not set stock', () => {
    expect(resultOf(changeOf(line({ quantity: 0 }), monstera, labels, false))).toMatchObject({ id: 7, refused: { code: 'forbidden' } });
    expect(changeOf(line({}), monstera, labels, false).kind).toBe('updated');
  });

  it('changes nothing if everything is equal', () => {
    const same = { category: { name: 'Foliage' }, photoUrls: ['https://photos.test/1'], tags: [{ name: 'shade' }] };
    expect(changeOf(line(same), monstera, labels, true).kind).toBe('unchanged');
    expect(changeOf(line({ ...same, externalId: 'E-7', metadata: { size: 'L', colour: 'red' } }), monstera, labels, true).kind).toBe('unchanged');
    for (const other of [{ status: 'available' as const }, { category: { id: 5, name: 'Foliage' } }, { tags: [] }, { photoUrls: ['https://photos.test/2'] }, { name: 'Other' }, { externalId: null }, { metadata: { colour: 'red' } }]) {
      expect(changeOf(line({ ...same, ...other }), monstera, labels, true).kind).toBe('updated');
    }
  });

  it('is refused with an external id of another plant, or of an earlier line', () => {
    const created = (id: number, externalId: string | null) => changeOf({ line: id, plant: { id, name: 'x', externalId } }, undefined, labels, true);
    const changes = [created(1, 'E-1'), created(2, 'E-1'), created(3, 'E-7'), created(4, null), changeOf(line({ externalId: 'E-7' }), monstera, labels, true)];
    const decided = refuseTakenExternalIds(changes, new Map([['E-7', 7]])).map(resultOf);
    expect(decided.map((one) => ('refused' in one ? one.refused.code : one.result))).toEqual(['created', 'external-id-exists', 'external-id-exists', 'created', 'updated']);
    expect(decided[2]).toMatchObject({ id: 3, refused: { detail: 'The external id E-7 is that of plant 7.' } });
  });

  it('without an id is for the plant with its external id, and changes only what it says', () => {
    const named = (plant: object) => ({ ...line({ externalId: 'E-7', ...plant }), isNamed: true as const });
    expect(changeOf(named({}), monstera, labels, true).kind).toBe('unchanged');
    expect(changeOf(named({ name: 'Other', tags: [] }), monstera, labels, true)).toMatchObject({ kind: 'updated', after: { ...monstera, name: 'Other', tags: [] } });
    const { valid, refused } = validateLines(['{"name":"a","externalId":"E-7"}', '{"name":"b","externalId":"E-8"}', '{"name":"c","externalId":"E-8"}', '{"id":3,"name":"d","externalId":"E-9"}', '{"name":"e","externalId":"E-9"}', '{"name":"f","externalId":null}', '{"name":"","externalId":"E-1"}']);
    expect([...refused.keys()]).toEqual([5, 6]);
    let drawn = 100;
    expect(identified(valid, new Map([['E-7', 7]]), () => ++drawn).map(({ plant, isNamed, isDrawn }) => [plant.id, isNamed, isDrawn])).toEqual([
      [7, true, undefined], [101, true, true], [101, true, undefined], [3, undefined, undefined], [3, true, undefined],
    ]);
  });

  it('is applied after earlier lines with the same id', () => {
    const batches = rounds([line({}, 0), line({ id: 8 }, 1), line({}, 2), line({}, 3)] as never);
    expect(batches.map((round) => round.map((one) => one.line))).toEqual([[0, 1], [2], [3]]);
  });
});
