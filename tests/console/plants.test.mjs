import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { assertShows, Chrome, TIMEOUT_MS } from './kit/console.mjs';
import { focusByKey, pressEnterOn } from './kit/keyboard.mjs';
import { address, admin, demoAdmin, fresh } from './kit/people.mjs';

/** Lines of the mass import, each of another plant. With 50,000 it takes minutes. */
const LINES = Number(process.env['IMPORTED_PLANTS'] ?? 12_000);

/** Hostile names, which must be shown as text. */
const hostile = /** @type {const} */ (['<img src=x onerror="window.hacked = 1">', '"><script>window.hacked = 2</script>', '{{7*7}} ${7*7} <b>bold</b>', '\u202Egnp.exe & "quotes" \'n\' <!-- -->', '=HYPERLINK("https://evil.test")']);

/** An image of one pixel. */
const dot = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

/** A promise with its resolve function. */
function signal() {
  let give = () => {};
  /** @type {Promise<void>} */
  const given = new Promise((resolve) => (give = resolve));
  return { given, give };
}

/** Random letters, which no other plant's name resembles. */
const randomWord = () => Array.from({ length: 14 }, () => 'abcdefghijklmnopqrstuvwxyz'[Math.floor(Math.random() * 26)]).join('');

/** @param {Partial<import('@plant-shop/client').components['schemas']['NewPlant']>} [values] */
async function newPlant(values = {}) {
  const { data } = await admin.POST('/plant', { body: { name: fresh('Fern'), ...values } });
  return data;
}

/** @param {number} plantId */
const stockOf = async (plantId) => (await admin.GET('/store/inventory/{plantId}', { params: { path: { plantId } } })).data;

/** @param {number} plantId */
const readPlant = async (plantId) => (await admin.GET('/plant/{plantId}', { params: { path: { plantId } } })).data;

/** @param {import('playwright-core').Page} page @param {string} name @param {number} level */
const heading = (page, name, level = 1) => page.getByRole('heading', { name, level, exact: true });

/** The numbers of an import: created, updated, unchanged, refused. @param {import('playwright-core').Page} page */
const figuresOf = async (page) => Object.fromEntries(await page.locator('dl > div').evaluateAll((all) => all.map((one) => [one.querySelector('dt')?.textContent, one.querySelector('dd')?.textContent])));

/** Clicks a button and reads the file that it downloads. @param {import('playwright-core').Page} page @param {import('playwright-core').Locator} button */
async function downloaded(page, button) {
  const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
}

/** @param {import('playwright-core').Page} page @param {{ name: string, mimeType: string, buffer: Buffer }} file */
async function importFile(page, file) {
  await page.locator('input[type=file]').setInputFiles(file);
  await page.getByRole('button', { name: /^Import \d/ }).click();
  await page.getByRole('progressbar', { name: 'Imported part of the file' }).waitFor();
  await page.getByRole('button', { name: 'Import another file' }).waitFor();
}

describe('plants', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('can be searched, even with typing errors, and filtered by facets; the URL contains the search', async () => {
    const word = randomWord();
    const tag = fresh('shade');
    await newPlant({ name: `${word} one`, tags: [{ name: tag }, { name: fresh('other') }], category: { name: `${word} trees` } });
    await newPlant({ name: `${word} two`, tags: [{ name: tag }], status: 'sold' });
    await newPlant({ name: `${word} three`, status: 'sold' });
    const visit = await chrome.visit(demoAdmin, { path: '/plants' });
    const { page } = visit;
    const links = page.getByRole('table', { name: 'Plants' }).getByRole('link');
    await page.getByLabel('Search').fill(`${word.slice(0, 5)}${word.slice(6)}`);
    await page.getByText('3 plants', { exact: true }).waitFor();
    await links.nth(2).waitFor();
    await page.getByRole('checkbox', { name: 'sold 2' }).check();
    await page.getByText('2 plants', { exact: true }).waitFor();
    await page.getByRole('checkbox', { name: `${tag} 1` }).check();
    await page.getByText('1 plant', { exact: true }).waitFor();
    await assertShows(links, [`${word} two`]);
    await visit.assertAccessible();
    await page.reload();
    await page.getByText('1 plant', { exact: true }).waitFor();
    assert.equal(await page.getByRole('checkbox', { name: `${tag} 1` }).isChecked(), true);
    await page.getByRole('checkbox', { name: 'sold 1' }).uncheck();
    await page.getByRole('checkbox', { name: `${tag} 2` }).uncheck();
    await page.getByRole('radio', { name: `${word} trees 1` }).check();
    await page.getByText('1 plant', { exact: true }).waitFor();
    await assertShows(links, [`${word} one`]);
    await page.getByLabel('Search').fill('no plant is called like this');
    await heading(page, 'No plant matches', 2).waitFor();
    await page.getByRole('button', { name: 'Show all plants' }).click();
    await links.first().waitFor();
    assert.equal(await page.getByLabel('Search').inputValue(), '');
    await visit.leave();
  });

  test('are found by a tag that contains commas, and its tags are told apart', async () => {
    const word = randomWord();
    const tag = `${fresh('shade')}, deep`;
    await newPlant({ name: `${word} one`, tags: [{ name: tag }, { name: 'sun' }] });
    // One that the first plant lacks, so that its field has something to offer.
    await newPlant({ name: `${word} two`, tags: [{ name: 'sun' }, { name: fresh('moss') }] });
    const visit = await chrome.visit(demoAdmin, { path: `/plants?q=${word}` });
    const { page } = visit;
    await page.getByText('2 plants', { exact: true }).waitFor();
    await page.getByRole('checkbox', { name: `${tag} 1` }).check();
    await page.getByText('1 plant', { exact: true }).waitFor();
    await page.reload();
    const link = page.getByRole('table', { name: 'Plants' }).getByRole('link', { name: `${word} one` });
    await link.click();
    await page.getByRole('heading', { name: `${word} one`, level: 1 }).waitFor();
    await page.getByText(tag, { exact: true }).filter({ visible: true }).waitFor();
    // It is a tag of the shop, not a list. The field offers others once it knows them.
    await page.getByRole('combobox', { name: 'Tags' }).click();
    await page.getByRole('option').first().waitFor();
    assert.equal(await page.getByRole('button', { name: /^Make \d tags/ }).count(), 0);
    await visit.leave();
  });

  test('can be added, changed and deleted by keyboard alone', async () => {
    const name = fresh('Keyboard fern');
    const visit = await chrome.visit(demoAdmin, { path: '/plants/new' });
    const { page } = visit;
    await focusByKey(page.getByLabel('Name'));
    await page.keyboard.type(name);
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Foliage');
    await page.keyboard.press('Tab');
    await page.keyboard.type('wet, and shady');
    await page.keyboard.press('Enter');
    await page.keyboard.type('sun, dry,pet safe');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Make 2 tags of “wet, and shady”' }).waitFor();
    await pressEnterOn(page.getByRole('button', { name: 'Make 3 tags of “sun, dry,pet safe”' }));
    await focusByKey(page.getByLabel('Units in stock'));
    await page.keyboard.type('12');
    await page.keyboard.press('Enter');
    await heading(page, name).waitFor();
    const id = Number(new URL(page.url()).pathname.split('/').at(-1));
    const { category, tags, status } = await readPlant(id);
    assert.deepEqual([category?.name, tags.map((tag) => tag.name), status], ['Foliage', ['wet, and shady', 'sun', 'dry', 'pet safe'], 'pending']);
    assert.equal((await stockOf(id)).free, 12);

    await focusByKey(page.getByLabel('Name'));
    await page.keyboard.press('End');
    await page.keyboard.type(' II');
    await page.keyboard.press('Enter');
    await heading(page, `${name} II`).waitFor();
    assert.equal((await readPlant(id)).name, `${name} II`);

    await pressEnterOn(page.getByRole('button', { name: 'Delete', exact: true }));
    await page.getByRole('dialog', { name: `Delete plant ${id}?` }).waitFor();
    await visit.assertAccessible();
    await pressEnterOn(page.getByRole('button', { name: 'Delete the plant' }));
    await heading(page, 'Plants').waitFor();
    await assert.rejects(readPlant(id), { status: 404 });
    await visit.leave();
  });

  test('with invalid input are refused at the field', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/plants/new' });
    const { page } = visit;
    await page.getByLabel('Name').fill('nul \u0000');
    await page.getByRole('button', { name: 'Add the plant' }).click();
    await page.getByText('The plant was not added').waitFor();
    assert.equal(await page.getByLabel('Name').getAttribute('aria-invalid'), 'true');
    await visit.leave(/400/);
  });

  test('when two users change a plant, the second is asked to choose, and keeps the input', async () => {
    const plant = await newPlant({ tags: [{ name: 'old' }] });
    const ada = await chrome.visit(demoAdmin, { path: `/plants/${plant.id}` });
    await ada.page.getByLabel('Name').fill('Name of Ada');
    await admin.PUT('/plant', { body: { id: plant.id, name: 'Name of Bob', status: 'sold' } });
    await ada.page.getByRole('button', { name: 'Save', exact: true }).click();
    const choice = ada.page.getByRole('alertdialog', { name: 'Someone else has changed this plant' });
    await choice.getByText('Name of Bob').waitFor();
    assert.deepEqual(await choice.getByRole('row').allTextContents(), ['WhatIn the shop nowYours', 'NameName of BobName of Ada']);
    assert.equal(await ada.page.getByLabel('Name').inputValue(), 'Name of Ada');
    await ada.assertAccessible();
    await choice.getByRole('button', { name: 'Overwrite with mine' }).click();
    await heading(ada.page, 'Name of Ada').waitFor();
    assert.deepEqual((({ name, status }) => ({ name, status }))(await readPlant(plant.id)), { name: 'Name of Ada', status: 'sold' });
    // What only Bob changed is no conflict, and stays.
    await ada.page.getByLabel('Name').fill('Another name');
    await admin.PUT('/plant', { body: { id: plant.id, name: 'Name of Ada', status: 'pending' } });
    await ada.page.getByRole('button', { name: 'Save', exact: true }).click();
    await heading(ada.page, 'Another name').waitFor();
    assert.deepEqual((({ name, status }) => ({ name, status }))(await readPlant(plant.id)), { name: 'Another name', status: 'pending' });
    await ada.leave(/412/);
  });

  test('when two users set the same stock, the second is asked to choose', async () => {
    const plant = await newPlant({ quantity: 10 });
    const ada = await chrome.visit(demoAdmin, { path: `/plants/${plant.id}` });
    const bob = await chrome.visit(demoAdmin, { path: `/plants/${plant.id}`, scheme: 'dark' });
    const set = async (/** @type {import('./kit/console.mjs').Visit} */ { page }, /** @type {string} */ units) => {
      await page.getByLabel('Free units').fill(units);
      await page.getByRole('button', { name: 'Set the stock' }).click();
    };
    await ada.page.getByLabel('Free units').fill('40');
    await set(bob, '30');
    await bob.page.getByText('30 units can be ordered.').waitFor();
    await set(ada, '40');
    const choice = ada.page.getByRole('alertdialog', { name: 'The stock has changed' });
    await choice.waitFor();
    assert.equal((await stockOf(plant.id)).free, 30);
    assert.equal(await ada.page.getByLabel('Free units').inputValue(), '40');
    await ada.assertAccessible();
    // Only what could be the stock is sent.
    for (const text of ['', '1.5', '-1']) {
      await ada.page.getByLabel('Free units').fill(text);
      await choice.getByRole('button', { name: /^Set it to/ }).click();
      await ada.page.getByLabel('Free units').and(ada.page.locator(':focus:invalid')).waitFor();
    }
    await ada.page.getByLabel('Free units').fill('40');
    // She sees what orders change meanwhile.
    await admin.POST('/store/order', { body: { plantId: plant.id } });
    await choice.getByRole('button', { name: 'Leave it at 29' }).waitFor();
    // Bob changes it again before Ada has chosen, so she is asked again.
    await set(bob, '31');
    await bob.page.getByText('31 units can be ordered.').waitFor();
    await choice.getByRole('button', { name: 'Set it to 40' }).click();
    await choice.getByRole('button', { name: 'Leave it at 31' }).waitFor();
    await choice.getByRole('button', { name: 'Set it to 40' }).click();
    await ada.page.getByText('40 units can be ordered.').waitFor();
    assert.equal((await stockOf(plant.id)).free, 40);
    // Bob overwrites 31, and then accepts Ada's value.
    await set(bob, '5');
    await bob.page.getByRole('button', { name: 'Leave it at 40' }).waitFor();
    await bob.assertAccessible();
    await bob.page.getByRole('button', { name: 'Leave it at 40' }).click();
    await bob.page.getByRole('alertdialog').waitFor({ state: 'detached' });
    assert.equal(await bob.page.getByLabel('Free units').inputValue(), '40');
    await ada.leave(/412/);
    await bob.leave(/412/);
  });

  test('the stock on the page is updated when orders are placed', async () => {
    const plant = await newPlant({ quantity: 10 });
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plant.id}` });
    await visit.page.waitForFunction(() => document.querySelector('dd')?.textContent === '10');
    await admin.POST('/store/order', { body: { plantId: plant.id, quantity: 3 } });
    await visit.page.waitForFunction(() => document.querySelector('dd')?.textContent === '7');
    assert.equal(await visit.page.getByLabel('Free units').inputValue(), '7');
    await visit.leave();
  });

  test('a plant with open orders cannot be deleted, and the dialog links the orders', async () => {
    const plant = await newPlant({ quantity: 10 });
    const { data: order } = await admin.POST('/store/order', { body: { plantId: plant.id } });
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plant.id}`, scheme: 'dark' });
    const { page } = visit;
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('its images and its stock are deleted').waitFor();
    await dialog.getByRole('button', { name: 'Delete the plant' }).click();
    const link = dialog.getByRole('list', { name: 'Open orders of the plant' }).getByRole('link', { name: `Order ${order.id}` });
    await link.waitFor();
    await visit.assertAccessible();
    await link.click();
    await page.waitForURL(`**/console/orders/${order.id}`);
    await visit.leave(/409/);
  });

  test('images can be dropped or chosen, with progress, and removed; other files are refused', async () => {
    const plant = await newPlant();
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plant.id}`, scheme: 'dark' });
    const { page } = visit;
    const name = '<img src=x onerror="window.hacked = 3">.png';
    // The upload waits until its progress has been checked.
    const seen = signal();
    await page.route('**/uploadImage', async (route) => {
      await seen.given;
      await route.continue();
    });
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), pressEnterOn(page.getByRole('button', { name: 'Choose pictures' }))]);
    await chooser.setFiles([{ name, mimeType: 'image/png', buffer: dot }, { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }]);
    await page.getByRole('progressbar', { name: `${name} is uploaded` }).waitFor({ state: 'attached' });
    await page.getByText('This is not an image.').waitFor();
    await visit.assertAccessible();
    seen.give();
    const first = page.getByRole('img', { name: `Image 1 of ${plant.name}` });
    await first.waitFor();
    await page.waitForFunction((element) => element instanceof HTMLImageElement && element.naturalWidth === 1, await first.elementHandle());
    await page.getByRole('progressbar').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Dismiss notes.txt' }).click();

    const dropped = await page.evaluateHandle((bytes) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], 'dropped.png', { type: 'image/png' }));
      return data;
    }, [...dot]);
    // It goes on while another page is open, and the browser asks before it closes the tab.
    const held = signal();
    /** @type {string[]} */
    const sentBy = [];
    await page.route(/uploadImage$/, async (route) => {
      sentBy.push(route.request().resourceType());
      await held.given;
      await route.continue();
    }, { times: 1 });
    await page.getByText('Drop images here').dispatchEvent('drop', { dataTransfer: dropped });
    await page.getByRole('progressbar', { name: 'dropped.png is uploaded' }).waitFor({ state: 'attached' });
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Orders' }).click();
    await heading(page, 'Orders').waitFor();
    assert.equal(await page.evaluate(() => window.dispatchEvent(new Event('beforeunload', { cancelable: true }))), false);
    await page.goBack();
    await page.getByRole('progressbar', { name: 'dropped.png is uploaded' }).waitFor({ state: 'attached' });
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Orders' }).click();
    held.give();
    await page.getByText('dropped.png was added.').waitFor();
    // Only that reports how far it is.
    assert.deepEqual(sentBy, ['xhr']);
    assert.equal(await page.evaluate(() => window.dispatchEvent(new Event('beforeunload', { cancelable: true }))), true);
    await page.goto(`${address}/console/plants/${plant.id}`);
    await page.getByRole('img', { name: `Image 2 of ${plant.name}` }).waitFor();
    assert.equal((await readPlant(plant.id)).photoUrls.length, 2);

    await page.getByRole('button', { name: 'Remove image 1' }).click();
    await page.getByRole('button', { name: 'Remove the image' }).click();
    await page.getByRole('img', { name: `Image 2 of ${plant.name}` }).waitFor({ state: 'detached' });
    assert.equal((await readPlant(plant.id)).photoUrls.length, 1);
    // Changes of images are no conflict with the form.
    await page.getByLabel('Name').fill('Pictured');
    await admin.POST('/plant/{plantId}/uploadImage', { params: { path: { plantId: plant.id } }, body: { file: new Blob([dot]) } });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await heading(page, 'Pictured').waitFor();
    assert.equal((await readPlant(plant.id)).photoUrls.length, 2);
    assert.equal(await page.evaluate(() => 'hacked' in window), false);
    await visit.leave(/412/);
  });

  test('markup in names, tags, categories and image URLs is shown as text', async () => {
    const word = fresh('hostile');
    const plants = await Promise.all(hostile.map((name) => newPlant({ name: `${word} ${name}`, tags: hostile.map((tag) => ({ name: tag })), category: { name }, photoUrls: ['javascript:window.hacked=4', 'https://elsewhere.test/<b>.png'] })));
    const visit = await chrome.visit(demoAdmin, { path: `/plants?q=${word}` });
    const { page } = visit;
    await page.getByText(`${hostile.length} plants`, { exact: true }).waitFor();
    const names = await page.getByRole('table', { name: 'Plants' }).getByRole('link').allTextContents();
    assert.deepEqual([...names].sort(), plants.map(({ name }) => name).sort());
    for (const plant of plants) {
      await page.getByRole('link', { name: plant.name, exact: true }).click();
      await heading(page, plant.name).waitFor();
      assert.equal(await page.getByLabel('Name').inputValue(), plant.name);
      await page.getByText('javascript:window.hacked=4').waitFor();
      assert.equal(await page.locator('a[href^="javascript:"]').count(), 0);
      await page.goBack();
      await page.getByText(`${hostile.length} plants`, { exact: true }).waitFor();
    }
    await page.getByRole('checkbox', { name: hostile[0] }).check();
    await page.getByText(`${hostile.length} plants`, { exact: true }).waitFor();
    assert.equal(await page.evaluate(() => 'hacked' in window || document.querySelector('img[src="x"], script:not([src])') !== null), false);
    await visit.leave();
  });

  test('with long names are shown whole on a phone, one below the other', async () => {
    const word = fresh('Long').replaceAll('-', '');
    const names = ['Giant white bird of paradise with split leaves, 180 to 200 cm', 'fern', 'Variegated Swiss cheese plant, two cuttings in one pot'].map((name) => `${word} ${name}`);
    for (const name of names) await admin.POST('/plant', { body: { name, photoUrls: [] } });
    const visit = await chrome.visit(demoAdmin, { path: `/plants?q=${word}&sort=name`, viewport: { width: 390, height: 844 } });
    const { page } = visit;
    await page.getByRole('link', { name: names[2] ?? '', exact: true }).waitFor();
    const rows = await page.locator('[data-index]').evaluateAll((all) => all.map((row) => {
      const [link, { top, bottom }] = [row.querySelector('a'), row.getBoundingClientRect()];
      return { top, bottom, text: link?.textContent, isCut: link && (link.scrollHeight > link.clientHeight + 1 || link.scrollWidth > link.clientWidth + 1) };
    }));
    assert.deepEqual(rows.map(({ text, isCut }) => ({ text, isCut })), [...names].sort((one, other) => one.localeCompare(other)).map((text) => ({ text, isCut: false })));
    for (const [n, { top }] of rows.entries()) if (n > 0) assert.ok(Math.abs(top - (rows[n - 1]?.bottom ?? 0)) < 1, `row ${n + 1}`);
    await visit.leave();
  });

  test('many lines can be imported while the page stays responsive; a report lists the refused ones', { timeout: 300_000 }, async () => {
    const word = randomWord();
    const first = 5_000_000_000_000 + Math.floor(Math.random() * 1e12);
    const refused = 10_415;
    const lineOf = (/** @type {number} */ n) => JSON.stringify({ id: first + n, name: n + 1 === refused ? '' : `${word} ${n}`, quantity: 1 });
    const buffer = Buffer.from(Array.from({ length: LINES }, (_, n) => `${lineOf(n)}\n`).join(''));
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import', scheme: 'dark' });
    const { page } = visit;
    await page.getByRole('button', { name: 'Choose a file' }).waitFor();
    // Records the longest task, in which the page ignores input, and the displayed progress values.
    await page.evaluate(() => {
      const watched = Object.assign(window, { longestMs: 0, seen: new Set() });
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) watched.longestMs = Math.max(watched.longestMs, duration);
      }).observe({ type: 'longtask' });
      new MutationObserver(() => watched.seen.add(document.querySelector('[role=progressbar]')?.getAttribute('aria-valuenow'))).observe(document.body, { subtree: true, childList: true, attributes: true });
    });
    // The tenth request waits, so that the import is running during the checks.
    let requests = 0;
    const [tenth, released] = [signal(), signal()];
    await page.route('**/plant/import', async (route) => {
      if (++requests === 10) {
        tenth.give();
        await released.given;
      }
      await route.continue();
    });
    const begun = performance.now();
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), pressEnterOn(page.getByRole('button', { name: 'Choose a file' }))]);
    await chooser.setFiles({ name: 'mass.ndjson', mimeType: 'application/x-ndjson', buffer });
    await page.getByRole('button', { name: `Import ${(LINES - 1).toLocaleString('en')} plants` }).click({ timeout: 120_000 });
    await tenth.given;
    await page.getByText('9,000', { exact: true }).waitFor();
    await visit.assertAccessible();
    await page.getByRole('link', { name: 'All plants' }).click();
    await heading(page, 'Plants').waitFor();
    await page.getByRole('link', { name: 'Import', exact: true }).click();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    released.give();
    await page.getByRole('button', { name: 'Import another file' }).waitFor({ timeout: 120_000 });
    const ms = performance.now() - begun;
    assert.deepEqual(await figuresOf(page), { Created: (LINES - 1).toLocaleString('en'), Updated: '0', Unchanged: '0', Refused: '1' });
    const { longestMs, steps } = await page.evaluate(() => ({ longestMs: /** @type {any} */ (window).longestMs, steps: /** @type {any} */ (window).seen.size }));
    console.log(`${LINES} lines imported in ${(ms / 1_000).toFixed(1)} s; ${steps} steps of progress; the page was busy for ${Math.round(longestMs)} ms at the longest`);
    assert.ok(steps >= 20, `${steps} steps of progress`);
    // Relative to the total time, so that it holds on a busy machine.
    assert.ok(longestMs < ms / 4, `busy for ${longestMs} of ${ms} ms`);
    const report = await downloaded(page, page.getByRole('button', { name: 'Download the report' }));
    assert.equal(report.name, 'mass-refused.csv');
    const [header, record = '', ...rest] = report.text.split('\r\n');
    assert.equal(header, '\ufeffLine,Content,Problem');
    assert.ok(record.startsWith(`${refused},`) && record.includes('Name: Enter') && record.includes(`""id"":${first + refused - 1}`), record);
    assert.deepEqual(rest, ['']);
    await visit.assertAccessible();
    await page.getByRole('table', { name: 'Refused' }).getByRole('cell', { name: '10,415' }).waitFor();
    await visit.leave();

    // The list can be scrolled by keyboard, and renders only visible rows.
    const listVisit = await chrome.visit(demoAdmin, { path: `/plants?q=${word}&sort=newest` });
    const table = listVisit.page.getByRole('table', { name: 'Plants' });
    await table.getByRole('link', { name: `${word} ${LINES - 1}`, exact: true }).focus();
    const focused = () => listVisit.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve(Number(/** @type {HTMLElement | null} */ (document.activeElement?.closest('[data-index]'))?.dataset['index'] ?? -1)))));
    const until = performance.now() + TIMEOUT_MS;
    for (let index = 0; index < 450; index = await focused()) {
      assert.ok(index >= 0 && performance.now() < until, `the focus is at ${index}`);
      await listVisit.page.keyboard.press('PageDown');
    }
    assert.ok((await table.getByRole('row').count()) < 80);
    await listVisit.leave();
  });

  test('CSV of a spreadsheet can be imported, and exports can be imported again', async () => {
    const id = 4_000_000_000_000 + Math.floor(Math.random() * 1e12);
    const tag = fresh('a,"b"|c');
    const csv = `\ufeffid,name,tags,quantity\r\n${id},"Fern, ""fine""\n${hostile[0]?.replaceAll('"', '""')}","${tag.replaceAll('"', '""').replace('|', '\\|')}|shade",7\r\nx,Nobody,,\r\n${id + 1},${'=1+1'},,3\r\n`;
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    await importFile(page, { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    assert.deepEqual(await figuresOf(page), { Created: '2', Updated: '0', Unchanged: '0', Refused: '1' });
    await page.getByRole('heading', { name: '1 refused line' }).waitFor();
    await page.getByRole('table', { name: 'Refused' }).getByRole('row', { name: /^4 / }).waitFor();
    const plant = await readPlant(id);
    assert.equal(plant.name, `Fern, "fine"\n${hostile[0]}`);
    assert.deepEqual(plant.tags.map(({ name }) => name), [tag, 'shade']);
    assert.equal((await stockOf(id)).free, 7);

    await page.getByRole('link', { name: 'All plants' }).click();
    /** @type {Record<string, string>} */
    const texts = {};
    for (const [format, item] of Object.entries({ csv: 'CSV with commas', ndjson: 'NDJSON, one plant a line' })) {
      await page.getByRole('button', { name: 'Export', exact: true }).click();
      const { name, text } = await downloaded(page, page.getByRole('menuitem', { name: item }));
      assert.match(name, new RegExp(`^plants-\\d{4}-\\d\\d-\\d\\d\\.${format}$`));
      texts[format] = text;
    }
    const exported = { csv: texts['csv'] ?? '', ndjson: texts['ndjson'] ?? '' };
    const line = exported.ndjson.split('\n').find((/** @type {string} */ one) => one.startsWith(`{"id":${id},`));
    assert.deepEqual(JSON.parse(line ?? ''), plant);

    // A cell without a value would be one that people fill in by guessing.
    assert.equal(exported.csv.slice(0, exported.csv.indexOf('\r\n')), '\ufeffid,name,status,category,tags,photoUrls,externalId');
    assert.doesNotMatch(exported.csv, /\d{10}:/);

    // Importing an export changes nothing.
    await page.getByRole('link', { name: 'Import', exact: true }).click();
    await page.getByRole('button', { name: 'Import another file' }).click();
    const recordAt = (/** @type {number} */ from) => exported.csv.slice(from, exported.csv.indexOf('\r\n', from) + 2);
    const again = [0, exported.csv.indexOf(`\n${id},`) + 1, exported.csv.indexOf(`\n${id + 1},`) + 1].map(recordAt).join('');
    await page.locator('input[type=file]').setInputFiles({ name: 'again.csv', mimeType: 'text/csv', buffer: Buffer.from(again) });
    await page.getByRole('button', { name: 'Nothing to import' }).waitFor();
    assert.deepEqual(await figuresOf(page), { New: '0', Changed: '0', Unchanged: '2', Refused: '0' });
    await page.getByRole('button', { name: 'Import another file' }).click();
    // The shop gives ids to the plants of a list without them.
    const [listed, refused] = [fresh('Listed'), 'x'.repeat(201)];
    await importFile(page, { name: 'supplier.csv', mimeType: 'text/csv', buffer: Buffer.from(`Name;Category;ID;Quantity\r\n${listed};Herbs;;4\r\n${refused};;;\r\n${listed} two;;;\r\n`) });
    assert.deepEqual(await figuresOf(page), { Created: '2', Updated: '0', Unchanged: '0', Refused: '1' });
    await page.getByRole('table', { name: 'Refused' }).getByText('Enter 1 to 200 characters.', { exact: true }).waitFor();
    const { data: created } = await admin.GET('/plant/search', { params: { query: { q: listed, sort: 'name' } } });
    assert.deepEqual(created.map(({ name, category }) => [name, category?.name]), [[listed, 'Herbs'], [`${listed} two`, undefined]]);
    assert.equal((await stockOf(created[0]?.id ?? 0)).free, 4);
    await page.getByRole('button', { name: 'Import another file' }).click();
    // Nothing of a damaged file is stored.
    await page.locator('input[type=file]').setInputFiles({ name: 'unclosed.csv', mimeType: 'text/csv', buffer: Buffer.from(`id;name\n${id};Fern\n${id + 1};"Fern\n`) });
    await page.getByText('The quote of line 3 is never closed').waitFor();
    assert.equal((await readPlant(id)).name, plant.name);
    // The row that the shop refuses.
    await visit.leave(/400 .*\/v3\/plant\)/);
  });

  test('an import continues after a lost connection', async () => {
    const first = 3_000_000_000_000 + Math.floor(Math.random() * 1e12);
    const lines = Array.from({ length: 2_500 }, (_, n) => `{"id":${first + n},"name":"Twice ${n}"}\n`);
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    let requests = 0;
    await page.route('**/plant/import', async (route) => {
      requests += 1;
      if (requests === 2) await route.abort('connectionreset');
      else await route.continue();
    });
    await importFile(page, { name: 'broken.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(lines.join('')) });
    assert.deepEqual(await figuresOf(page), { Created: '2,500', Updated: '0', Unchanged: '0', Refused: '0' });
    assert.equal(requests, 4);
    await visit.leave(/ERR_CONNECTION_RESET/);
  });
});
