import { describe, expect, it } from '@jest/globals';
import { clientOperations } from '@plant-shop/contracts/client-operations';
import { bodyShapeOf, undeclaredMembers } from './json-body.js';
import { suggestion } from './members.js';

const errorsOf = (name: string, body: unknown): readonly { pointer: string; detail: string }[] => {
  const operation = clientOperations.find((one) => one.name === name);
  const shape = operation && bodyShapeOf(operation);
  if (!shape) throw new Error(`${name} has no JSON body`);
  return undeclaredMembers(shape, body);
};

describe('an undeclared member', () => {
  it('is refused with the name that was probably meant', () => {
    expect(errorsOf('placeOrder', { plantId: 7, qty: 5 })).toEqual([{ pointer: '/qty', detail: 'is not a member; did you mean `quantity`?' }]);
    expect(errorsOf('placeOrder', { petId: 7 })).toEqual([{ pointer: '/petId', detail: 'is not a member; did you mean `plantId`?' }]);
  });

  it('is refused with all names if none is alike', () => {
    const [error] = errorsOf('createApiKey', { name: 'till', scopes: [] });
    expect(error).toEqual({ pointer: '/scopes', detail: 'is not a member; there are `name`, `permissions`, `expiresAt`, `currentPassword`, `currentCode`' });
  });

  it.each([
    ['createPlant', { name: 'Fern', photoUrls: [], category: { id: 1, name: 'Ferns', colour: 'green' } }, '/category/colour'],
    ['createPlant', { name: 'Fern', photoUrls: [], tags: [{ name: 'a' }, { nam: 'b' }] }, '/tags/1/nam'],
    ['createUsers', [{ username: 'a', password: 'b' }, { username: 'b', passwort: 'c' }], '/1/passwort'],
    ['placeOrder', { plantId: 7, 'a/b~c': 1 }, '/a~1b~0c'],
  ])('of %s is found in nested objects and lists', (name, body, pointer) => {
    expect(errorsOf(name, body).map((one) => one.pointer)).toEqual([pointer]);
  });

  it('is not walked, quoted at length or listed without end', () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`member${n}`, { deep: { deeper: n } }]));
    expect(errorsOf('placeOrder', { plantId: 7, ...many })).toHaveLength(10);
    expect(errorsOf('placeOrder', { plantId: 7, ['x'.repeat(100_000)]: 1 })).toEqual([
      { pointer: '', detail: 'has a member that does not exist, with a name of 100000 characters' },
    ]);
  });
});

describe('a body that was read and is sent back', () => {
  it.each(clientOperations.filter((one) => one.body?.kind === 'json'))('is accepted by $name', (operation) => {
    const { properties } = propertiesOf(operation);
    expect(undeclaredMembers(bodyShapeOf(operation) ?? new Map(), properties)).toEqual([]);
  });

  it('includes what only answers have, and what the shop ignores', () => {
    const order = { id: 7, plantId: 7, quantity: 1, status: 'placed', complete: false, placedAt: '', reservedUntil: '', owner: 'a', refund: 'due' };
    expect(errorsOf('placeOrder', order)).toEqual([]);
  });
});

/** Returns an object with each member of the answer of an operation, if that is one object. */
function propertiesOf({ answer }: (typeof clientOperations)[number]): { properties: Record<string, null> } {
  const schema = answer.kind === 'forwarded' ? answer.schema : undefined;
  const name = (schema?.json['$ref'] as string | undefined)?.split('/').at(-1) ?? '';
  const members = schema?.components[name]?.['properties'] ?? {};
  return { properties: Object.fromEntries(Object.keys(members).map((one) => [one, null])) };
}

describe('a suggestion', () => {
  it.each([
    ['qty', 'quantity'],
    ['plant_id', 'plantId'],
    ['PLANTID', 'plantId'],
    ['shipdate', 'shipDate'],
    ['quantiy', 'quantity'],
  ])('for %s is %s', (name, meant) => {
    expect(suggestion(name, ['id', 'plantId', 'quantity', 'shipDate', 'status', 'complete'])).toBe(`; did you mean \`${meant}\`?`);
  });
});
