import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { misplaced } from './kit/boxes.mjs';
import { assertShows, Chrome } from './kit/console.mjs';
import { address, admin, demoAdmin, fresh } from './kit/people.mjs';
import { workbookOf } from './kit/workbook.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** Ids that no other test has. */
const freshId = () => 6_000_000_000_000 + Math.floor(Math.random() * 1e12);

/** Names of this word's plants in the shop. @param {string} word */
const namesOf = async (word) => (await admin.GET('/plant/search', { params: { query: { q: word, sort: 'name' } } })).data.map(({ name }) => name);

/** @param {Page} page @param {string} name @param {Buffer} buffer */
const choose = (page, name, buffer) => page.locator('input[type=file]').setInputFiles({ name, mimeType: '', buffer });

/** The numbers of a preview or an import. @param {Page} page */
const figuresOf = async (page) => Object.fromEntries(await page.locator('dl > div').evaluateAll((all) => all.map((one) => [one.querySelector('dt')?.textContent, one.querySelector('dd')?.textContent])));

/** Imports what the preview shows. @param {Page} page @param {string} plants */
async function confirm(page, plants) {
  await page.getByRole('button', { name: `Import ${plants}`, exact: true }).click();
  await page.getByText(/^Done\./).waitFor({ timeout: 120_000 });
}

/** Says what a column holds. @param {Page} page @param {string} column @param {string} holds */
async function hold(page, column, holds) {
  await page.getByRole('combobox', { name: `What ${column} holds` }).click();
  await page.getByRole('option', { name: holds, exact: true }).click();
}

/** @param {string} text */
const latin = (text) => Buffer.from(text, 'latin1');

describe('a file of plants', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('as Excel in Europe saves it, with other headers and without ids, is shown before it is imported', async () => {
    const word = fresh('Excel').replaceAll('-', '');
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    await choose(page, 'Lieferliste.csv', latin(`Nazwa;Stan;Cena\r\n${word} Calath\xe9a "rot";12;2,50\r\n"${word} Two\r\nlines; here";;3,00\r\n;;\r\n`));
    await page.getByText('Choose below which column holds the names of the plants.').waitFor();
    assert.equal(await page.getByRole('button', { name: /^Import \d/ }).count(), 0);
    await hold(page, 'Nazwa', 'Name');
    await hold(page, 'Stan', 'Stock');
    await page.getByText('1 blank line will be skipped.').waitFor();
    assert.deepEqual(await figuresOf(page), { New: '2', Changed: '0', Unchanged: '0', Refused: '0' });
    await assertShows(page.getByRole('table', { name: 'First plants' }).getByRole('row'), ['LineWhatPlant', `2New${word} Calathéa "rot"Stock 12`, `3New${word} Two\r\nlines; hereStock: the shop’s default`]);
    await page.getByText('The file gives no stock for 1 new plant').waitFor();
    const encoding = page.getByRole('combobox', { name: 'Text encoding' });
    assert.equal(await encoding.inputValue(), 'Western European (Windows-1252)');
    assert.ok(await encoding.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth));
    assert.deepEqual(await namesOf(word), []);
    await visit.assertAccessible();
    await page.setViewportSize({ width: 390, height: 844 });
    assert.deepEqual(await misplaced(page), []);
    await page.setViewportSize({ width: 1024, height: 860 });
    assert.deepEqual(await misplaced(page), []);
    // Another page meanwhile forgets nothing.
    await page.getByRole('link', { name: 'All plants' }).click();
    await page.getByRole('link', { name: 'Import', exact: true }).click();
    await confirm(page, '2 plants');
    assert.deepEqual(await figuresOf(page), { Created: '2', Updated: '0', Unchanged: '0', Refused: '0' });
    assert.deepEqual(await namesOf(word), [`${word} Calathéa "rot"`, `${word} Two\r\nlines; here`]);
    await visit.leave();
  });

  test('is compared with the shop: what is new, changed and the same, and which cells are wrong', async () => {
    const [word, id] = [fresh('Compared').replaceAll('-', ''), freshId()];
    await admin.POST('/plant/import', { body: [{ id, name: `${word} same`, category: { name: 'Herbs' }, tags: [{ name: 'shade' }], quantity: 5 }, { id: id + 1, name: `${word} old`, externalId: word, quantity: 7 }].map((one) => `${JSON.stringify(one)}\n`).join(''), parseAs: 'text' });
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import', scheme: 'dark' });
    const { page } = visit;
    const rows = [
      'id,name,category,tags,quantity,status,externalId',
      `${id},${word} same,Herbs,shade,,,`,
      `${id + 1},${word} new name,,,9,sold,`,
      `${id + 2},${word} fresh,,,3,,`,
      `${id + 3},,,,1.5,gone,`,
      `${id + 4},${word} twice,,,,,${word}`,
      `x1,${'y'.repeat(201)},,,,,`,
    ];
    await choose(page, 'list.csv', Buffer.from(rows.join('\n')));
    await page.getByText('3 lines would be left out.').waitFor();
    assert.deepEqual(await figuresOf(page), { New: '1', Changed: '1', Unchanged: '1', Refused: '3' });
    await page.getByText('The file sets the free units of 1 existing plant.').waitFor();
    const first = page.getByRole('table', { name: 'First plants' });
    await first.getByRole('row', { name: `2 Unchanged ${word} same` }).waitFor();
    assert.equal(await first.getByRole('row', { name: /^3 Changed/ }).getByRole('cell').nth(2).textContent(), `${word} new name (was ${word} old)Id ${id + 1}Status sold (was available)Stock 9 (is 7)`);
    await assertShows(page.getByRole('table', { name: 'Refused' }).getByRole('row'), [
      'LineColumnProblemContent', '5NameEnter 1 to 200 characters.–', '5StatusChoose available, pending or sold.gone', '5StockWrite a whole number in digits, from 0 to 1,000,000,000.1.5',
      `6External idPlant ${id + 1} has it already.${word}`, '7IdWrite a whole number in digits, 1 or more.x1', `7NameEnter 1 to 200 characters.${'y'.repeat(200)}`,
    ]);
    await visit.assertAccessible();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download the report' }).click()]);
    assert.match(readFileSync(await download.path(), 'utf8'), /\r\n\d+,,,,1\.5,gone,,"name: Enter 1 to 200 characters\. status: Choose available, pending or sold\. [^\r]*\r\n\d+,\w+ twice,/);
    assert.deepEqual(await namesOf(word), [`${word} old`, `${word} same`]);
    await confirm(page, '3 plants');
    assert.deepEqual(await figuresOf(page), { Created: '1', Updated: '1', Unchanged: '1', Refused: '3' });
    assert.equal((await admin.GET('/store/inventory/{plantId}', { params: { path: { plantId: id + 1 } } })).data.free, 9);
    // What the shop refuses, the browser logs.
    await visit.leave(/40[09] .*\/v3\/plant\)/);
  });

  test('of a supplier changes what it says when it comes again, and leaves the rest', async () => {
    const word = fresh('Supplier').replaceAll('-', '');
    const list = (/** @type {string[]} */ ...rows) => Buffer.from(['Product;SKU;Stock;Labels', ...rows].join('\r\n'));
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    const again = () => page.getByRole('button', { name: 'Import another file' }).click();
    await choose(page, 'first.csv', list(`${word} one;${word}-1;5;shade, pet safe`, `${word} two;${word}-2;6;`));
    await page.getByRole('button', { name: 'Import 2 plants' }).waitFor();
    assert.deepEqual(await figuresOf(page), { New: '2', Changed: '0', Unchanged: '0', Refused: '0' });
    await confirm(page, '2 plants');
    const { data: [plant] } = await admin.GET('/plant/search', { params: { query: { q: `${word} one` } } });
    const id = plant?.id ?? 0;
    assert.deepEqual(plant?.tags.map(({ name }) => name), ['shade', 'pet safe']);
    // What staff add is not of the list.
    await admin.PATCH('/plant/{plantId}', { params: { path: { plantId: id } }, body: { category: { name: 'Foliage' } } });
    await again();
    await choose(page, 'second.csv', list(`${word} one;${word}-1;5;shade, pet safe`, `${word} two;${word}-2;7;`, `${word} three;${word}-3;1;`));
    await page.getByRole('button', { name: 'Import 3 plants' }).waitFor();
    assert.deepEqual(await figuresOf(page), { New: '1', Changed: '1', Unchanged: '1', Refused: '0' });
    await page.getByRole('table', { name: 'First plants' }).getByRole('row', { name: new RegExp(`^2 Unchanged ${word} one`) }).waitFor();
    await confirm(page, '3 plants');
    assert.deepEqual(await figuresOf(page), { Created: '1', Updated: '1', Unchanged: '1', Refused: '0' });
    assert.equal((await admin.GET('/plant/{plantId}', { params: { path: { plantId: id } } })).data.category?.name, 'Foliage');
    assert.deepEqual(await namesOf(word), [`${word} one`, `${word} three`, `${word} two`]);
    await visit.leave();
  });

  test('that is corrected is read as before and adds only what is new, and what it made can be opened', async () => {
    const word = fresh('Corrected').replaceAll('-', '');
    const list = (/** @type {string} */ stock) => latin(`Bezeichnung;Bestand;Preis\r\n${word} Calath\xe9a;${stock};"c;d"\r\n${word} Farn;3;"a;b"\r\n`);
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    await choose(page, 'list.csv', list('12.5'));
    await hold(page, 'Bezeichnung', 'Name');
    await hold(page, 'Bestand', 'Stock');
    await hold(page, 'Preis', 'Tags');
    await page.getByRole('combobox', { name: 'Several tags are separated by' }).click();
    await page.getByRole('option', { name: 'Semicolon', exact: true }).click();
    await page.getByText('1 line would be left out.').waitFor();
    await confirm(page, '1 plant');
    await assertShows(page.getByRole('table', { name: 'Refused' }).getByRole('row'), ['LineColumnProblemContent', '2StockWrite a whole number in digits, from 0 to 1,000,000,000.12.5']);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download the report' }).click()]);
    const report = readFileSync(await download.path(), 'utf8');
    assert.equal(report, `\ufeffBezeichnung;Bestand;Preis;Problem\r\n${word} Calathéa;12.5;"c;d";"Bestand: Write a whole number in digits, from 0 to 1,000,000,000."\r\n`);
    await page.getByRole('button', { name: 'Import another file' }).click();
    await choose(page, 'corrected.csv', list('12'));
    await page.getByRole('button', { name: 'Import 2 plants' }).waitFor();
    assert.deepEqual(await figuresOf(page), { New: '1', Changed: '0', Unchanged: '1', Refused: '0' });
    await page.getByRole('table', { name: 'First plants' }).getByRole('row', { name: `3 Unchanged ${word} Farn` }).waitFor();
    for (const [column, holds] of [['Bezeichnung', 'Name'], ['Bestand', 'Stock'], ['Preis', 'Tags']]) assert.equal(await page.getByRole('combobox', { name: `What ${column} holds` }).inputValue(), holds);
    await confirm(page, '2 plants');
    await assertShows(page.getByRole('table', { name: 'Imported plants' }).getByRole('row'), ['LineWhatPlant', `2New${word} Calathéa`]);
    assert.deepEqual(await namesOf(word), [`${word} Calathéa`, `${word} Farn`]);
    await visit.assertAccessible();
    await page.getByRole('link', { name: `${word} Calathéa` }).click();
    await page.getByRole('heading', { name: `${word} Calathéa`, level: 1 }).waitFor();
    const { data } = await admin.GET('/plant/search', { params: { query: { q: `${word} Farn` } } });
    assert.deepEqual(data[0]?.tags.map(({ name }) => name), ['a', 'b']);
    // The report, too, can be corrected and imported.
    await page.getByRole('link', { name: 'Back to the plants' }).click();
    await page.getByRole('link', { name: 'Import', exact: true }).click();
    await page.getByRole('button', { name: 'Import another file' }).click();
    await choose(page, 'list-refused.csv', Buffer.from(report.replace('12.5', '12')));
    await page.getByRole('button', { name: 'Nothing to import' }).waitFor();
    assert.deepEqual(await figuresOf(page), { New: '0', Changed: '0', Unchanged: '1', Refused: '0' });
    await visit.leave(/400 .*\/v3\/plant\)/);
  });

  test('begins with the columns that were chosen for the last one like it, also in another visit', async () => {
    const word = fresh('Weekly');
    const list = (/** @type {string} */ stock) => Buffer.from(`Was;Wieviel\r\n${word};${stock}\r\n`);
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    await choose(page, 'first.csv', list('3'));
    await hold(page, 'Was', 'Name');
    await hold(page, 'Wieviel', 'Stock');
    await page.getByRole('button', { name: 'Import 1 plant' }).waitFor();
    await page.reload();
    await choose(page, 'second.csv', list('4'));
    await page.getByRole('button', { name: 'Import 1 plant' }).waitFor();
    for (const [column, holds] of [['Was', 'Name'], ['Wieviel', 'Stock']]) assert.equal(await page.getByRole('combobox', { name: `What ${column} holds` }).inputValue(), holds);
    await visit.leave();
  });

  test('says which rows have one name, and which plants have it already', async () => {
    const word = fresh('Twins').replaceAll('-', '');
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    const notice = page.getByRole('alert').filter({ hasText: 'more than once' });
    await choose(page, 'twins.csv', Buffer.from(`name,stock\n${word} fern,1\n${word} moss,2\n${word.toUpperCase()} FERN,3\n`));
    await notice.getByText('1 name would be there more than once').waitFor();
    await assertShows(notice.getByRole('listitem'), [`${word} fern: lines 2, 4`]);
    await visit.assertAccessible();
    await confirm(page, '3 plants');
    assert.deepEqual(await figuresOf(page), { Created: '3', Updated: '0', Unchanged: '0', Refused: '0' });
    const { data: [moss] } = await admin.GET('/plant/search', { params: { query: { q: `${word} moss` } } });
    await page.getByRole('button', { name: 'Import another file' }).click();
    await choose(page, 'changed.csv', Buffer.from(`name,stock\n${word} fern,4\n${word} moss,5\n`));
    await notice.getByText('2 names would be there more than once').waitFor();
    await notice.getByRole('listitem').filter({ hasText: `${word} moss: line 3; plant ${moss?.id} has it already` }).getByRole('link').waitFor();
    await visit.leave();
  });

  test('is imported as its preview says, also the second time: a plant has one row, and rows without an id add no other (slow)', async () => {
    const [word, id] = [fresh('Again').replaceAll('-', ''), freshId()];
    const rows = [['name', 'id', 'sku', 'stock'], [`${word} thai`, id, `${word}-1`, 25], [`${word} plain`, undefined, undefined, 3], [`${word} twice`, id, undefined, 7], [`${word} code`, undefined, `${word}-1`, 8]];
    const folder = mkdtempSync(join(tmpdir(), 'plant-shop-import-'));
    const path = join(folder, 'list.xlsx');
    writeFileSync(path, workbookOf(rows));
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    const first = page.getByRole('table', { name: 'First plants' });
    const unitsOf = async () => (await admin.GET('/store/inventory/{plantId}', { params: { path: { plantId: id } } })).data.free;
    try {
      await page.locator('input[type=file]').setInputFiles(path);
      await page.getByText('2 lines would be left out.').waitFor();
      await page.getByRole('alert', { name: 'Only the sheet “Plants” is read' }).getByText('Not read: “Info”.').waitFor();
      assert.deepEqual(await figuresOf(page), { New: '2', Changed: '0', Unchanged: '0', Refused: '2' });
      assert.equal(await page.getByText('The file sets the free units').count(), 0);
      await first.getByRole('row', { name: `4 Refused ${word} twice` }).getByText('The line has the same id as line 2.').waitFor();
      await first.getByRole('row', { name: `5 Refused ${word} code` }).getByText('The line has the same external id as line 2.').waitFor();
      await confirm(page, '2 plants');
      assert.deepEqual(await figuresOf(page), { Created: '2', Updated: '0', Unchanged: '0', Refused: '2' });
      assert.equal(await unitsOf(), 25);
      await page.getByRole('button', { name: 'Import another file' }).click();
      await page.locator('input[type=file]').setInputFiles(path);
      await page.getByText('The same row has added 1 plant before. It is not added again.').waitFor();
      assert.deepEqual(await figuresOf(page), { New: '0', Changed: '0', Unchanged: '2', Refused: '2' });
      await first.getByRole('row', { name: `2 Unchanged ${word} thai` }).getByText('Stock 25').waitFor();
      await first.getByRole('row', { name: `3 Unchanged ${word} plain` }).getByText('The same row has added it before: plant').waitFor();
      assert.equal(await page.getByText('more than once').count(), 0);
      await visit.assertAccessible();
      await confirm(page, '2 plants');
      assert.deepEqual(await figuresOf(page), { Created: '0', Updated: '0', Unchanged: '2', Refused: '2' });
      await page.getByText('The same row has added 1 plant before. It is not added again.').waitFor();
      // A reload forgets neither the result nor what was added.
      await page.reload();
      await page.getByRole('alert').filter({ hasText: 'list.xlsx was imported' }).getByText('0 plants created, 0 updated, 2 unchanged, 2 refused.').waitFor();
      await page.locator('input[type=file]').setInputFiles(path);
      await page.getByText('The same row has added 1 plant before. It is not added again.').waitFor();
      assert.deepEqual(await figuresOf(page), { New: '0', Changed: '0', Unchanged: '2', Refused: '2' });
      // Another tab knows nothing of it, and the shop does.
      await page.evaluate(() => sessionStorage.clear());
      await page.goto(`${address}/console/plants/import`);
      await page.locator('input[type=file]').setInputFiles(path);
      await page.getByText('It does not add a row again that says the same.').waitFor();
      await confirm(page, '2 plants');
      assert.deepEqual(await figuresOf(page), { Created: '0', Updated: '0', Unchanged: '2', Refused: '2' });
      await page.getByText('The same row has added 1 plant before. It is not added again.').waitFor();
      assert.deepEqual(await namesOf(word), [`${word} plain`, `${word} thai`]);
      assert.equal(await unitsOf(), 25);
    } finally {
      rmSync(folder, { recursive: true });
    }
    await visit.leave();
  });

  test('whose import gets no answer says so, and after a reload how far it came', async () => {
    const word = fresh('Halfway');
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    const list = Buffer.from(`name\n${word}\n`);
    await choose(page, 'halfway.csv', list);
    // The shop adds the plant, and nobody hears of it.
    const added = new Promise((resolve) => void page.route(/\/v3\/plant$/, async (route) => resolve(await route.fetch())));
    await page.getByRole('button', { name: 'Import 1 plant' }).click();
    await added;
    await page.getByText('The shop takes no lines at the moment.').waitFor();
    await visit.assertAccessible();
    page.on('dialog', (dialog) => void dialog.accept());
    await page.reload();
    await page.unroute(/\/v3\/plant$/);
    const notice = page.getByRole('alert').filter({ hasText: 'The import of halfway.csv is not complete' });
    await notice.getByText('No answer had come when the page was closed.').waitFor();
    await visit.assertAccessible();
    await choose(page, 'halfway.csv', list);
    await confirm(page, '1 plant');
    assert.deepEqual(await figuresOf(page), { Created: '0', Updated: '0', Unchanged: '1', Refused: '0' });
    assert.deepEqual(await namesOf(word), [word]);
    await page.getByRole('button', { name: 'Import another file' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'Choose a file' }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await visit.leave();
  });

  test('asks how its tags are separated where that is not to be seen', async () => {
    const word = fresh('Tagged').replaceAll('-', '');
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    const cell = page.getByRole('table', { name: 'First plants' }).getByRole('row').nth(1).getByRole('cell').nth(2);
    await choose(page, 'tags.csv', Buffer.from(`name;tags\n${word};"shade, pet safe"\n`));
    await assertShows(cell, [`${word}Tags shade | pet safeStock: the shop’s default`]);
    await page.getByRole('combobox', { name: 'Several tags are separated by' }).click();
    await page.getByRole('option', { name: '|', exact: true }).click();
    await assertShows(cell, [`${word}Tags shade, pet safeStock: the shop’s default`]);
    await page.getByRole('button', { name: 'Import another file' }).click();
    // An export separates them by |, so a comma is part of a tag.
    await choose(page, 'export.csv', Buffer.from(`id,name,status,category,tags,photoUrls,externalId\n,${word},,,"shade, pet safe",,\n`));
    await assertShows(cell, [`${word}Tags shade, pet safeStock: the shop’s default`]);
    await visit.leave();
  });

  test('is previewed as one file: a line that names the plant of another is refused, also more than a request after it', async () => {
    const [word, id] = [fresh('Distant').replaceAll('-', ''), freshId()];
    const between = Array.from({ length: 300 }, (_, n) => ({ id: id + 1 + n, name: `${word} between ${n}`, quantity: 1 }));
    const lines = [{ id, name: `${word} first`, status: 'sold', externalId: word, quantity: 3 }, ...between, { id, name: `${word} later`, quantity: 4 }, { id: id + 999, name: `${word} other`, externalId: word }, { name: `${word} without an id`, tags: [{ name: word }] }, ...between.slice(0, 1)];
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    const asked = [];
    page.on('request', (request) => request.method() === 'POST' && request.url().includes('/v3/plant') && asked.push(request.url()));
    await choose(page, 'long.ndjson', Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')));
    await page.getByText('3 lines would be left out.').waitFor();
    assert.deepEqual(await figuresOf(page), { New: '302', Changed: '0', Unchanged: '0', Refused: '3' });
    await assertShows(page.getByRole('table', { name: 'Refused' }).getByRole('row'), [
      'LineColumnProblemContent', `302AllThe line has the same id as line 1.Id: ${id} · Name: ${word} later · Stock: 4`,
      `303AllThe line has the same external id as line 1.Id: ${id + 999} · Name: ${word} other · External id: ${word}`, `305AllThe line has the same id as line 2.Id: ${id + 1} · Name: ${word} between 0 · Stock: 1`,
    ]);
    assert.equal(asked.length, 2);
    assert.deepEqual(await namesOf(word), []);
    await visit.leave();
  });

  test('can have any letters that spreadsheets save, and other separators', async () => {
    const word = fresh('Letters').replaceAll('-', '');
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    const names = page.getByRole('table', { name: 'First plants' }).getByRole('row').nth(1).getByRole('cell').nth(2).locator('p').first();
    const again = () => page.getByRole('button', { name: 'Import another file' }).click();
    const text = `name\tid\n${word} Фикус 🌵 "x"\t\n`;
    for (const buffer of [Buffer.from(`\ufeff${text}`, 'utf16le'), Buffer.from(`\ufeff${text}`), Buffer.from(text), Buffer.from(text.replaceAll('\t', ';')), Buffer.from(text.replaceAll('\t', ','))]) {
      await choose(page, 'list.txt', buffer);
      await assertShows(names, [`${word} Фикус 🌵 "x"`]);
      await again();
    }
    // Windows-1251, which its words tell from Windows-1252, or else a reader.
    await choose(page, 'list.csv', Buffer.concat([Buffer.from(`name;id\r\n${word} `), Buffer.from([0xd4, 0xe8, 0xea, 0xf3, 0xf1]), Buffer.from(';\r\n')]));
    for (const [encoding, name] of [[undefined, 'Фикус'], ['Western European (Windows-1252)', 'Ôèêóñ'], ['Cyrillic (Windows-1251)', 'Фикус']]) {
      if (encoding !== undefined) {
        await page.getByRole('combobox', { name: 'Text encoding' }).click();
        await page.getByRole('option', { name: encoding }).click();
      }
      await assertShows(names, [`${word} ${name}`]);
    }
    await again();
    await choose(page, 'list.csv', Buffer.from(`name|stock\n${word} piped|4\n`));
    await page.getByText('Choose below which column').waitFor();
    await again();
    await choose(page, 'old.xls', Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]));
    await page.getByText('This is a workbook of an old Excel.').waitFor();
    await again();
    for (const begin of ['%PDF-1.7\n', '\x89PNG\r\n\x1a\n', '\xff\xd8\xff\xe0\0\x10JFIF']) {
      await choose(page, 'list.csv', Buffer.from(begin, 'latin1'));
      await page.getByText('This file is no list of plants: its content is no text.').waitFor();
      await again();
    }
    await choose(page, 'broken.xlsx', workbookOf([['name'], ['Fern']]).subarray(0, 300));
    await page.getByText('This workbook is damaged.').waitFor();
    assert.deepEqual(await namesOf(word), []);
    await visit.leave();
  });

  test('can be a workbook of Excel: 5,000 rows with all kinds of text', { timeout: 180_000 }, async () => {
    const [word, id] = [fresh('Workbook').replaceAll('-', ''), freshId()];
    const kinds = ['Фикус', '🌵 cactus', 'a "quoted" one', 'two\nlines', '=1+1', 'x; y, z\tw', '日本語', 'Ü & <b>'];
    const rows = Array.from({ length: 5_000 }, (_, n) => [`${word} ${kinds[n % kinds.length]} ${n}`, id + n, undefined, n % 50]);
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    await choose(page, 'all.xlsx', workbookOf([['Plant', 'Id', 'Note', 'In stock'], ...rows]));
    await page.getByRole('button', { name: 'Import 5,000 plants' }).waitFor();
    assert.deepEqual(await figuresOf(page), { New: '5,000', Changed: '0', Unchanged: '0', Refused: '0' });
    assert.equal(await page.getByRole('combobox', { name: 'Text encoding' }).count(), 0);
    await confirm(page, '5,000 plants');
    assert.deepEqual(await figuresOf(page), { Created: '5,000', Updated: '0', Unchanged: '0', Refused: '0' });
    for (const n of [0, 3, 4_999]) {
      const { data } = await admin.GET('/plant/{plantId}', { params: { path: { plantId: id + n } } });
      assert.equal(data.name, rows[n]?.[0]);
    }
    // The same as CSV changes nothing.
    await page.getByRole('button', { name: 'Import another file' }).click();
    const quoted = (/** @type {unknown} */ cell) => `"${String(cell ?? '').replaceAll('"', '""')}"`;
    await choose(page, 'all.csv', Buffer.from(`\ufeffname;id\r\n${rows.map(([name, plantId]) => `${quoted(name)};${plantId}`).join('\r\n')}\r\n`));
    await page.getByRole('button', { name: 'Nothing to import' }).waitFor();
    assert.deepEqual(await figuresOf(page), { New: '0', Changed: '0', Unchanged: '5,000', Refused: '0' });
    await visit.leave();
  });

  test('can be a workbook with a title, numbers as Excel shows them, and errors', async () => {
    const word = fresh('Titled').replaceAll('-', '');
    const number = Number(String(freshId()).slice(-4));
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    await choose(page, 'titled.xlsx', workbookOf([['Supplier list 2026'], [], ['Name', 'SKU', 'Stock'], [`${word} zeros`, { style: 2, value: number }, 4], [{ style: 1, value: 46173 }, `${word}-2`, 1], [`${word} wide`, `${word}-3`, 1, 'a remark'], [`${word} error`, { error: '#N/A' }, 2]]));
    await page.getByRole('button', { name: 'Import 2 plants' }).waitFor();
    assert.deepEqual(await figuresOf(page), { New: '2', Changed: '0', Unchanged: '0', Refused: '2' });
    await page.getByText('2026-05-31').first().waitFor();
    await page.getByText('has 4 cells, the row of the column names 3').first().waitFor();
    await page.getByText('#N/A is an error of the spreadsheet').first().waitFor();
    await confirm(page, '2 plants');
    const { data } = await admin.GET('/plant/search', { params: { query: { externalId: String(number).padStart(5, '0') } } });
    assert.deepEqual(data.map(({ name }) => name), [`${word} zeros`]);
    await visit.leave();
  });

  test('is exported with the separator that Excel expects, and without formulas', async () => {
    const [word, id] = [fresh('Exported').replaceAll('-', ''), freshId()];
    await admin.POST('/plant', { body: { id, name: `=HYPERLINK("${word}"); Фикус`, tags: [{ name: 'a;b' }] } });
    const visit = await chrome.visit(demoAdmin, { path: '/plants' });
    const { page } = visit;
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'CSV with semicolons' }).click()]);
    const buffer = readFileSync(await download.path());
    const text = buffer.toString('utf8');
    assert.ok(text.startsWith('\ufeffid;name;status;category;tags;photoUrls;externalId\r\n'));
    const row = text.split('\r\n').find((one) => one.startsWith(`${id};`)) ?? '';
    assert.equal(row, `${id};"'=HYPERLINK(""${word}""); Фикус";available;;"a;b";;`);
    // Imported again, it changes nothing.
    await page.getByRole('link', { name: 'Import', exact: true }).click();
    await choose(page, 'again.csv', Buffer.from(`${text.slice(0, text.indexOf('\n') + 1)}${row}\r\n`));
    await page.getByRole('button', { name: 'Nothing to import' }).waitFor();
    assert.deepEqual(await figuresOf(page), { New: '0', Changed: '0', Unchanged: '1', Refused: '0' });
    await visit.leave();
  });
});
