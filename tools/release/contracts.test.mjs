import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SERVICES } from '../start/services.mjs';
import { testOfRelease } from './adjacent.mjs';
import { breakingChanges, judge } from './contracts.mjs';
import { documentOf, readRelease } from './releases.mjs';

const folder = mkdtempSync(join(tmpdir(), 'plant-shop-contracts-'));
after(() => rmSync(folder, { recursive: true }));

const owners = /** @type {const} */ (['gateway', 'notifications']);
const documentsOf = (/** @type {typeof owners[number]} */ service) => /** @type {NonNullable<ReturnType<typeof documentOf>>} */ (documentOf(service));

for (const service of owners) {
  const { today, released, name } = documentsOf(service);
  if (!existsSync(released)) continue;
  test(`${name} is compatible with the last release of ${service}, except for changes listed in releases/${service}.json`, async () => {
    const { wanted } = readRelease(service);
    const { unwanted, stale } = judge(await breakingChanges(released, today), wanted);
    assert.deepEqual(unwanted, [], `list an intended change with its reason under "wanted" in releases/${service}.json`);
    assert.deepEqual(stale, [], 'listed as wanted, but not a change today');
  });
}

test('an entry under "wanted" needs a reason and an actual change', () => {
  assert.deepEqual(judge(['#/a: gone', '#/b: gone', '#/c: gone'], { '#/a: gone': 'Nobody read it.', '#/c: gone': '', '#/d: gone': 'Old.', 'store.getOrder is gone': 'No document.' }), {
    unwanted: ['#/b: gone', '#/c: gone'],
    stale: ['#/d: gone'],
  });
});

test('an entry under "wanted" concerns the document, a call or a test of behaviour of its own service', () => {
  for (const service of SERVICES) {
    for (const change of Object.keys(readRelease(service).wanted)) {
      assert.ok(change.startsWith(`${service}.`) || change.startsWith(testOfRelease) || (change.startsWith('#/') && documentOf(service)), `releases/${service}.json wants ${change}`);
    }
  }
});

/**
 * Breaking changes to today's documents. The tool's rules are experimental: this test fails if a new version misses one of them.
 * @type {readonly (readonly [typeof owners[number], string, (document: any) => void, RegExp | undefined])[]}
 */
const seeded = [
  ['gateway', 'an operation is removed', ({ paths }) => delete paths['/store/order'].get, /^#\/paths\/~1store~1order\/get: Operation `GET \/store\/order` was removed/],
  ['gateway', 'a response member is removed', ({ components }) => delete components.schemas.Order.properties.shipDate, /Order\/properties\/shipDate: .*removed/],
  ['gateway', 'a value is added to a response enum', ({ components }) => components.schemas.Order.properties.status.enum.push('lost'), /Order\/properties\/status\/enum: .*'lost'/],
  ['gateway', 'a request member becomes required', ({ components }) => (components.schemas.NewOrder.required = ['plantId', 'quantity']), /NewOrder\/required: .*`quantity`/],
  ['gateway', 'a limit of a request is lowered', ({ components }) => (components.schemas.NewOrder.properties.quantity.maximum = 5), /quantity\/maximum: /],
  ['gateway', 'a response header is removed', ({ paths }) => delete paths['/store/order'].post.responses['200'].headers.ETag, /headers\/ETag: /],
  ['gateway', 'another permission is required', ({ paths }) => paths['/store/order'].post.security[0].apiKey.push('admin'), /security\/0\/apiKey: /],
  ['gateway', 'a webhook member is removed', ({ components }) => delete components.schemas.OrderStatusChange.properties.trackingNumber, /trackingNumber: .*removed/],
  ['gateway', 'an operation, a parameter and a response member are added', ({ paths, components }) => {
    paths['/more'] = { get: { operationId: 'more', responses: { 200: { description: 'More' } } } };
    paths['/store/order'].get.parameters.push({ name: 'more', in: 'query', schema: { type: 'string' } });
    components.schemas.Order.properties.more = { type: 'string' };
  }, undefined],
  ['gateway', 'a problem has a new code', ({ paths, components: { schemas, responses } }) => {
    const known = responses['plant-not-found'];
    responses['plant-not-found.more'] = JSON.parse(JSON.stringify(known));
    for (const schema of [schemas.Problem, responses['plant-not-found.more'].content['application/problem+json'].schema.allOf[1]]) schema.properties.code.enum.push('more');
    paths['/store/order'].post.responses['404'] = { $ref: '#/components/responses/plant-not-found.more' };
  }, undefined],
  ['notifications', 'the address of a channel changes', ({ channels }) => (channels.updates.address = '/v2/orders/updates'), /^#\/channels\/updates\/address: /],
  ['notifications', 'an event member is removed', ({ components }) => delete components.schemas.OrderStatusChange.properties.trackingNumber, /trackingNumber: .*removed/],
  ['notifications', 'the type of an event member changes', ({ components }) => (components.schemas.OrderStatusChange.properties.orderId.type = 'string'), /orderId\/type: /],
  ['notifications', 'a message is removed', ({ channels, operations }) => {
    delete channels.updates.messages.streamGap;
    operations.pushOrderEvents.messages.pop();
  }, /streamGap: .*removed/],
  ['notifications', 'an event member is added', ({ components }) => (components.schemas.OrderStatusChange.properties.more = { type: 'string' }), undefined],
];

/**
 * Makes all breaking changes, or all compatible ones, to one copy of a service's document, since each comparison takes a second of processor time.
 * @param {typeof owners[number]} service @param {boolean} areBreaking
 */
function changesFound(service, areBreaking) {
  const { today, name } = documentsOf(service);
  const document = JSON.parse(readFileSync(today, 'utf8'));
  for (const [owner, , change, expected] of seeded) if (owner === service && (expected !== undefined) === areBreaking) change(document);
  const file = join(folder, `${areBreaking ? 'breaking' : 'compatible'}-${name}`);
  writeFileSync(file, JSON.stringify(document));
  return breakingChanges(today, file);
}

for (const service of owners) {
  test(`each breaking change to the document of ${service} is found`, async (context) => {
    const changes = await changesFound(service, true);
    for (const [owner, what, , expected] of seeded) {
      if (owner === service && expected) await context.test(what, () => assert.ok(changes.some((one) => expected.test(one)), changes.join('\n')));
    }
  });

  test(`compatible changes to the document of ${service} are not breaking: ${seeded.flatMap(([owner, what, , expected]) => (owner === service && !expected ? what : [])).join('; ')}`, async () => {
    assert.deepEqual(await changesFound(service, false), []);
  });
}
