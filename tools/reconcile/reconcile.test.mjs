import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { natsOf, parseOptions } from './options.mjs';
import { lookFirst, reconcile } from './reconcile.mjs';
import { isLeft, sentence, table } from './messages.mjs';

test('options are dry-run, many and json, and nothing else', () => {
  assert.deepEqual(parseOptions([]), { help: false, dryRun: false, many: false, json: false });
  assert.deepEqual(parseOptions(['--dry-run', '--json']), { help: false, dryRun: true, many: false, json: true });
  assert.throws(() => parseOptions(['--all']), /--all/);
});

test('the NATS server comes from the environment, by default from the running shop', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reconcile-'));
  try {
    await assert.rejects(natsOf({ DATA_DIR: folder }), /No shop runs here/);
    writeFileSync(join(folder, 'run.json'), JSON.stringify({ nats: { url: 'nats://here', users: { operator: 'secret' } } }));
    const here = { url: 'nats://here', password: 'secret' };
    assert.deepEqual(await natsOf({ DATA_DIR: folder }), here);
    assert.deepEqual(await natsOf({ RUN_FILE: join(folder, 'run.json') }), here);
    assert.deepEqual(await natsOf({ DATA_DIR: folder, NATS_URL: 'nats://there', OPERATOR_NATS_PASSWORD: 'p' }), { url: 'nats://there', password: 'p' });
    writeFileSync(join(folder, 'password'), 'of the file\n');
    assert.deepEqual(await natsOf({ NATS_URL: 'nats://there', OPERATOR_NATS_PASSWORD_FILE: join(folder, 'password') }), { url: 'nats://there', password: 'of the file' });
    writeFileSync(join(folder, 'run.json'), '{}');
    await assert.rejects(natsOf({ DATA_DIR: folder }), /NATS_URL/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('instructions to the operator name the ids concerned', () => {
  const setAside = /** @type {const} */ ({ orderId: 5, drift: 'order-set-aside', move: 'expire', sqlState: '23514', constraint: 'no_thirteen' });
  /** @type {[import('./reconcile.mjs').Finding, boolean, RegExp][]} */
  const cases = [
    [{ service: 'catalog', drift: 'numbers-behind', sequence: 'plant_ids', from: 3, to: 9, outcome: 'mended' }, false, /at 3, .* continues at 9/],
    [{ plantId: 7, drift: 'stock-missing', outcome: 'mended' }, true, /0 units .* \/v3\/store\/inventory\/7/],
    [{ plantId: 7, drift: 'stock-missing', outcome: 'found' }, true, /would be opened/],
    [{ plantId: 7, drift: 'listing-differs', outcome: 'mended' }, false, /plant 7 .* updated/],
    [{ plantId: 7, drift: 'plant-deleted', outcome: 'mended' }, false, /Plant 7 .* Deleted again/],
    [{ plantId: 7, drift: 'plant-missing', outcome: 'mended' }, false, /retired/],
    [{ plantId: 7, drift: 'plant-missing', outcome: 'left', openOrders: [1, 2] }, true, /open: 1, 2\. Create the plant again/],
    [{ userId: 'u-1', username: 'ada', drift: 'user-deleted', outcome: 'mended' }, false, /ada \(u-1\) .* Deleted again/],
    [{ userId: 'u-1', drift: 'user-missing', outcome: 'mended' }, false, /User u-1 does not exist/],
    [{ userId: 'u-1', drift: 'user-missing', outcome: 'left', openOrders: [3] }, true, /open: 3\. Transfer them/],
    [{ userId: 'u-1', drift: 'user-missing', outcome: 'unfinished' }, true, /Run this again/],
    [{ ...setAside, outcome: 'found' }, true, /Order 5 was due to expire, .* no_thirteen .* would be retried/],
    [{ ...setAside, outcome: 'left' }, true, /Correct the rows/],
    [{ ...setAside, outcome: 'mended' }, false, /It succeeded now/],
  ];
  for (const [finding, left, text] of cases) {
    assert.equal(isLeft(finding), left, JSON.stringify(finding));
    assert.match(sentence(finding), text);
  }
});

test('the table counts what was checked, repaired and left to do', () => {
  const text = table({ plants: 12, customers: 3, ordersSetAside: 0 }, new Map([['plant-missing', { mended: 2, left: 1 }]]));
  assert.match(text, /12 plants, 3 customers/);
  assert.match(text, /stock without a plant +2 +1\n/);
  assert.match(text, /plants without stock +0 +0\n/);
});

test('sequences are raised first, then every page is compared; a briefly unavailable service is called again', async () => {
  /** @type {string[]} */
  const asked = [];
  /** @type {import('./reconcile.mjs').Finding[]} */
  const findings = [];
  /** @type {any} */
  const call = async (/** @type {{ pattern: string }} */ { pattern }, /** @type {{ after?: number }} */ { after }) => {
    asked.push(`${pattern} ${after ?? ''}`.trim());
    if (asked.length === 3) throw Object.assign(new Error('away'), { code: 'unavailable' });
    if (pattern.endsWith('raiseNumbers')) return { raised: pattern.startsWith('catalog') ? [{ sequence: 'plant_ids', from: 1, to: 5 }] : [] };
    if (pattern === 'identity.reconcileUsers' || pattern === 'store.reconcileOrders') return { checked: 1, findings: [] };
    const finding = { plantId: 7, drift: 'plant-missing', outcome: 'mended' };
    return after === undefined ? { checked: 2, next: 7, findings: [finding] } : { checked: 3, findings: [] };
  };
  const checked = await reconcile(call, { dryRun: false, onFinding: (one) => findings.push(one), pauseMs: 1 });
  assert.deepEqual(checked, { plants: 5, customers: 1, ordersSetAside: 1 });
  assert.deepEqual(findings.map(({ drift }) => drift), ['numbers-behind', 'plant-missing']);
  assert.deepEqual(asked, [
    'catalog.raiseNumbers',
    'identity.raiseNumbers',
    'catalog.reconcilePlants',
    'catalog.reconcilePlants',
    'catalog.reconcilePlants 7',
    'identity.reconcileUsers',
    'store.reconcileOrders',
  ]);
});

test('it gives up if a service stays unavailable, and at once on a defect', async () => {
  for (const [code, times] of /** @type {const} */ ([['unavailable', 5], ['internal', 1]])) {
    let tries = 0;
    const call = async () => {
      tries += 1;
      throw Object.assign(new Error(code), { code });
    };
    await assert.rejects(reconcile(call, { dryRun: false, onFinding: () => {}, pauseMs: 1 }), { code });
    assert.equal(tries, times);
  }
});

test('an empty database is refused rather than treated as one whose rows were deleted', async () => {
  /** @param {number} checked @param {number} going @returns {any} */
  const shop = (checked, going) => async (/** @type {{ pattern: string }} */ { pattern }, /** @type {{ dryRun: boolean }} */ { dryRun }) => {
    assert.equal(dryRun, true);
    if (pattern.endsWith('raiseNumbers')) return { raised: [] };
    if (pattern !== 'catalog.reconcilePlants') return { checked: 0, findings: [] };
    return { checked, findings: Array.from({ length: going }, (_, plantId) => ({ plantId, drift: 'plant-missing', outcome: 'found' })) };
  };
  assert.deepEqual(await lookFirst(shop(100, 100)), { isSuspicious: true, going: 100, checked: 100 });
  assert.equal((await lookFirst(shop(20, 20))).isSuspicious, false);
  assert.equal((await lookFirst(shop(1_000, 100))).isSuspicious, false);
  assert.equal((await lookFirst(shop(1_000, 101))).isSuspicious, true);
});
