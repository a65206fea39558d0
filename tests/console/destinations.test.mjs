import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { startNats } from '@plant-shop/testing/nats';
import { until } from '@plant-shop/testing/until';
import { Chrome } from './kit/console.mjs';
import { pressEnterOn } from './kit/keyboard.mjs';
import { admin, fresh, newPerson, newPlant } from './kit/people.mjs';

const waitMs = 30_000;

describe('the destinations pages', () => {
  const chrome = new Chrome();
  /** @type {import('@plant-shop/testing/nats').TestNats} */
  let broker;
  /** @type {string} */
  let folder;
  /** @type {import('@nats-io/transport-node').NatsConnection} */
  let connection;
  /** @type {import('@nats-io/jetstream').JetStreamManager['streams']} */
  let streams;
  /** @type {import('./kit/people.mjs').Person} */
  let boss;
  before(async () => {
    boss = await newPerson('admin');
    folder = await mkdtemp(join(tmpdir(), 'test-jetstream-'));
    broker = await startNats({ config: `jetstream { store_dir: "${folder}" }\nauthorization { user: shop, password: "a password" }` });
    connection = await connect({ servers: broker.url, user: 'shop', pass: 'a password', maxReconnectAttempts: -1, reconnectTimeWait: 100 });
    ({ streams } = await jetstreamManager(connection));
    await chrome.open();
  });
  after(async () => {
    await chrome.close();
    const { data: all } = await admin.GET('/destinations', { params: { query: { limit: 100 } } });
    for (const { id, url } of all) if (url === broker.url) await admin.DELETE('/destinations/{destinationId}', { params: { path: { destinationId: id } } });
    await connection.close();
    await broker.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const credentials = { user: 'shop', password: 'a password' };
  /** Subjects are of one stream only. */
  const addStream = async (name = fresh('STREAM')) => {
    await streams.add({ name, subjects: [`${name.toLowerCase()}.>`], duplicate_window: 100_000_000 });
    return { stream: name, subject: name.toLowerCase() };
  };
  const count = async (/** @type {string} */ stream) => (await streams.info(stream)).state.messages;

  /** A destination of one plant's placed orders. */
  async function destination() {
    const plantId = await newPlant();
    const named = await addStream();
    const { data } = await admin.POST('/destinations', { body: { name: fresh('Warehouse'), url: broker.url, ...named, credentials, plantId, eventTypes: ['order.placed'] } });
    return { ...data, plantId };
  }

  test('one can be created by keyboard alone; it is held in words of people until its stream exists, and then runs', async () => {
    const plantId = await newPlant();
    const [name, stream] = [fresh('Warehouse'), fresh('MISSING')];
    const visit = await chrome.visit(boss, { path: '/destinations' });
    const { page } = visit;
    await pressEnterOn(page.getByRole('button', { name: 'New destination' }));
    const dialog = page.getByRole('dialog', { name: 'New destination' });
    await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor();
    await page.keyboard.type(name);
    await page.keyboard.press('Tab');
    await page.keyboard.type('nats://10.0.0.1:4222');
    await page.keyboard.press('Tab');
    await page.keyboard.type(stream);
    await page.keyboard.press('Tab');
    await page.keyboard.type(stream.toLowerCase());
    await page.keyboard.press('Enter');
    await dialog.locator('[aria-invalid=true]').waitFor();
    await visit.assertAccessible();
    await dialog.getByLabel('Address').fill(broker.url);
    await dialog.getByRole('radio', { name: 'a user and a password' }).check();
    await dialog.getByRole('textbox', { name: 'User', exact: true }).fill(credentials.user);
    await dialog.locator('input[type=password]').fill(credentials.password);
    await dialog.getByRole('checkbox', { name: 'An order is placed' }).check();
    await dialog.getByLabel('Only plant').fill(String(plantId));
    await visit.assertAccessible();
    await dialog.getByRole('button', { name: 'Create the destination' }).dblclick();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    assert.match(await page.title(), new RegExp(`^${name}`));
    await page.getByRole('alert').getByText(`Its server has no stream ${stream}. Create the stream with the subjects ${stream.toLowerCase()}.>`).waitFor();
    await page.getByText(/^Held/).filter({ visible: true }).waitFor();
    assert.ok(!(await page.content()).includes(credentials.password), 'the page has the password');
    assert.equal(await page.evaluate(() => JSON.stringify(sessionStorage).includes('a password')), false);
    await visit.assertAccessible();
    await page.getByRole('link', { name: 'All destinations' }).click();
    await page.getByRole('row', { name: new RegExp(`${name}.*Held Its server has no stream ${stream}`) }).waitFor();
    assert.equal(await page.getByRole('row', { name: new RegExp(name) }).count(), 1);
    await addStream(stream);
    await admin.POST('/store/order', { body: { plantId } });
    await until(async () => (await count(stream)) === 1, waitMs);
    await page.getByRole('row', { name: new RegExp(`${name}.*Running It gets each new event`) }).waitFor();
    await visit.leave(/400/);
  });

  test('one is held while its credentials are refused, and continues with others, which the page asks for', async () => {
    const { id, name, stream, plantId } = await destination();
    const wrong = { name, url: broker.url, stream, subject: stream.toLowerCase(), plantId, eventTypes: /** @type {const} */ (['order.placed']), credentials: { user: 'shop', password: 'former' } };
    await admin.PUT('/destinations/{destinationId}', { params: { path: { destinationId: id } }, body: { ...wrong, eventTypes: ['order.placed'] } });
    await admin.POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(boss, { path: `/destinations/${id}` });
    const { page } = visit;
    await page.getByRole('alert').getByText('Its server refuses the credentials').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit the destination' });
    assert.ok(await dialog.getByRole('radio', { name: 'those that are stored' }).isChecked());
    await dialog.getByRole('radio', { name: 'a user and a password' }).check();
    await dialog.getByRole('textbox', { name: 'User', exact: true }).fill('shop');
    await dialog.locator('input[type=password]').fill(credentials.password);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The destination is changed.').waitFor();
    await until(async () => (await count(stream)) === 1, waitMs);
    await page.getByText('Running', { exact: true }).waitFor();
    // What is stored is sent to no other address.
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Address').fill('nats://localhost:4222');
    await dialog.getByText('The stored credentials stay with the former address.').waitFor();
    assert.equal(await dialog.getByRole('radio', { name: 'those that are stored' }).count(), 0);
    await visit.assertAccessible();
    await visit.leave();
  });

  test('one can be disabled, enabled and deleted, and says what becomes of its events', async () => {
    const { id, name, stream, plantId } = await destination();
    const visit = await chrome.visit(boss, { path: `/destinations/${id}` });
    const { page } = visit;
    const choose = async (/** @type {string} */ action) => {
      await pressEnterOn(page.getByRole('button', { name: 'More actions' }));
      await pressEnterOn(page.getByRole('menuitem', { name: action }), 'ArrowDown');
    };
    await choose('Disable');
    await page.getByText('Once it is enabled, it goes on from where it was.').waitFor();
    await visit.assertAccessible();
    await admin.POST('/store/order', { body: { plantId } });
    await page.getByRole('button', { name: 'Enable the destination' }).click();
    await until(async () => (await count(stream)) === 1, waitMs);
    await page.getByText('This destination is disabled').waitFor({ state: 'detached' });
    await choose('Delete');
    await page.getByRole('dialog').getByText(`The shop publishes nothing more to ${name}`).waitFor();
    await visit.assertAccessible();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    await choose('Delete');
    await page.getByRole('button', { name: 'Delete the destination' }).click();
    await page.getByText('The destination is deleted.').waitFor();
    await page.getByRole('row', { name: new RegExp(name) }).waitFor({ state: 'detached' });
    assert.equal(await count(stream), 1);
    await visit.leave(/404/);
  });

  test('a period is published again, once', async () => {
    const { id, stream, plantId } = await destination();
    await admin.POST('/store/order', { body: { plantId } });
    await until(async () => (await count(stream)) === 1, waitMs);
    const visit = await chrome.visit(boss, { path: `/destinations/${id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByLabel('Since').waitFor();
    await visit.assertAccessible();
    await page.getByLabel('Since').fill('2099-01-01 10:00');
    await page.getByRole('button', { name: 'Publish them again' }).click();
    await page.getByText('Choose a time in the past.').first().waitFor();
    await page.getByLabel('Since').fill(new Date(Date.now() - 86_400_000).toISOString().slice(0, 16).replace('T', ' '));
    await page.getByRole('button', { name: 'Publish them again' }).dblclick();
    await page.getByText('The events of the period are being published again.').waitFor();
    await until(async () => (await count(stream)) === 2, waitMs);
    const last = await streams.getMessage(stream, { seq: 2 });
    assert.equal(last?.header.get('Shop-Replay'), 'true');
    await page.getByText('Past events are being published again').waitFor({ state: 'detached' });
    await visit.leave(/400/);
  });

  test('an edit that conflicts with a newer version offers a choice and keeps the input', async () => {
    const { id, name, url, stream, subject, plantId } = await destination();
    const visit = await chrome.visit(boss, { path: `/destinations/${id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Most events a second').fill('700');
    await admin.PUT('/destinations/{destinationId}', { params: { path: { destinationId: id } }, body: { name, url, stream, subject, plantId, perSecond: 900 } });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('at most 900 a second').waitFor();
    await visit.assertAccessible();
    assert.equal(await page.getByLabel('Most events a second').inputValue(), '700');
    await page.getByRole('button', { name: 'Replace it' }).click();
    await page.getByText('The destination is changed.').waitFor();
    const { data } = await admin.GET('/destinations/{destinationId}', { params: { path: { destinationId: id } } });
    // What only the other one changed stays: it named no types.
    assert.deepEqual([data.perSecond, data.hasCredentials, data.eventTypes], [700, true, ['order.status_changed']]);
    await visit.leave(/412/);
  });

  test('an address that somebody else changes while the form is open takes no credentials from it', async () => {
    const { id, name, stream, subject, plantId } = await destination();
    const visit = await chrome.visit(boss, { path: `/destinations/${id}` });
    const { page } = visit;
    await page.getByText('Running', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit the destination' });
    await dialog.getByLabel('Name').fill('Typed');
    // Nothing takes connections there: it is not said to run meanwhile.
    await admin.PUT('/destinations/{destinationId}', { params: { path: { destinationId: id } }, body: { name, url: 'nats://127.0.0.1:9', stream, subject, plantId, credentials: { token: 'other' } } });
    await page.getByText('nats://127.0.0.1:9').first().waitFor();
    assert.equal(await page.getByText('Running', { exact: true }).count(), 0);
    assert.ok(await dialog.getByRole('radio', { name: 'those that are stored' }).isChecked());
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('It is now: ').waitFor();
    assert.deepEqual([await dialog.getByLabel('Name').inputValue(), await dialog.getByLabel('Address').inputValue()], ['Typed', 'nats://127.0.0.1:9']);
    await visit.leave(/412/);
  });

  test('a form that is opened again asks for the credentials that it does not keep', async () => {
    const visit = await chrome.visit(boss, { path: '/destinations' });
    const { page } = visit;
    await page.getByRole('button', { name: 'New destination' }).click();
    const dialog = page.getByRole('dialog', { name: 'New destination' });
    await dialog.getByLabel('Name').fill('Kept');
    await dialog.getByRole('radio', { name: 'a user and a password' }).check();
    await dialog.locator('input[type=password]').fill('a secret');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'New destination' }).click();
    await dialog.getByText('What you typed before is here again').waitFor();
    assert.ok(await dialog.getByRole('radio', { name: 'a user and a password' }).isChecked());
    assert.equal(await dialog.locator('input[type=password]:required').inputValue(), '');
    assert.ok(!(await page.evaluate(() => JSON.stringify(sessionStorage))).includes('a secret'));
    await dialog.getByRole('button', { name: 'Discard it' }).click();
    assert.ok(await dialog.getByRole('radio', { name: 'none' }).isChecked());
    await visit.leave();
  });

  test('are not for those who may not manage users', async () => {
    const visit = await chrome.visit(await newPerson('staff'), { path: '/destinations' });
    const { page } = visit;
    await page.getByRole('heading', { name: 'Only administrators see destinations' }).waitFor();
    assert.equal(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Destinations' }).count(), 0);
    await page.getByRole('button', { name: /^Find/ }).click();
    await page.getByRole('combobox').fill('destination');
    await page.getByText('Nothing matches.').waitFor();
    await visit.assertAccessible();
    await visit.leave();
  });

  test('are offered by the palette, as pages and to be created', async () => {
    const visit = await chrome.visit(boss);
    const { page } = visit;
    await page.getByRole('button', { name: /^Find/ }).click();
    await page.getByRole('combobox').fill('destinations');
    await page.getByRole('option', { name: 'Destinations' }).waitFor();
    await page.getByRole('combobox').fill('new destination');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'New destination' }).getByLabel('Address').waitFor();
    await visit.leave();
  });

  for (const scheme of /** @type {const} */ (['light', 'dark'])) {
    test(`fit a phone, ${scheme}`, async () => {
      const { id, name } = await destination();
      await streams.delete((await admin.GET('/destinations/{destinationId}', { params: { path: { destinationId: id } } })).data.stream);
      const visit = await chrome.visit(boss, { path: `/destinations/${id}`, scheme, viewport: { width: 390, height: 844 } });
      const { page } = visit;
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await visit.assertAccessible();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('Most events a second').waitFor();
      await visit.assertAccessible();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
      await visit.leave();
    });
  }
});
