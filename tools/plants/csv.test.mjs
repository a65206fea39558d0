import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { test } from 'node:test';
import { BadEncoding, BadFile, EXPORTED, headerOf, linesOf, plantsOf, recordOf, rowOf, rowsOf, sourceLines, whyOf } from './csv.mjs';

/** @param {string | Uint8Array} content @param {number} size */
async function* cut(content, size) {
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const sizes = [1, 2, 3, 7, 1_000];
const read = (/** @type {string | Uint8Array} */ content, size = 5) => Array.fromAsync(sourceLines('csv', cut(content, size)));
/** The plants of a file, however it is cut into pieces. @param {string | Uint8Array} content */
async function plantsIn(content) {
  const readings = await Promise.all(sizes.map((size) => read(content, size)));
  for (const reading of readings) assert.deepEqual(reading, readings[0]);
  return (readings[0] ?? []).filter(({ text }) => text !== '').map(({ number, text, fault }) => [number, fault ?? JSON.parse(text)]);
}
const refuses = (/** @type {string | Uint8Array} */ content, /** @type {RegExp} */ message) =>
  Promise.all(sizes.map((size) => assert.rejects(read(content, size), (error) => error instanceof BadFile && message.test(error.message) || assert.fail(String(error)))));
const fixture = (/** @type {string} */ name) => createReadStream(new URL(`fixtures/libreoffice-${name}.csv`, import.meta.url));

const plants = [
  { id: 7, name: 'Monstera', photoUrls: [], tags: [], status: 'available' },
  { id: 8, name: 'a, "b"\nc', externalId: 'E,8', category: { id: 3, name: 'x|y: z' }, photoUrls: ['https://a.test/1|2', 'https://a.test/\\'], tags: [{ id: 1, name: 'a|b' }, { id: 2, name: '"\\' }], status: 'sold' },
  { id: 9, name: '日本語 ÿ 🌵', category: { id: 4 }, photoUrls: [], tags: [{ id: 2, name: '\\|\\n' }], status: 'pending' },
];

test('a round trip through CSV preserves plants', async () => {
  const text = headerOf(EXPORTED) + plants.map((one) => recordOf(one)).join('');
  assert.match(text, /^\ufeffid,name,[^\n]*\r\n7,/);
  const read = (await plantsIn(text)).map(([line, plant]) => [line, { photoUrls: [], tags: [], ...plant }]);
  assert.deepEqual(read, [[2, plants[0]], [3, plants[1]], [5, plants[2]]]);
});

test('an export has categories and tags by their names, and no empty column for the stock', async () => {
  const [plant] = plants;
  const own = { ...plant, category: { id: 1_000_000_004, name: 'Foliage' }, tags: [{ id: 1_000_000_005, name: 'shade' }, { id: 1_000_000_006, name: '3:1 scale' }] };
  assert.equal(headerOf(EXPORTED) + recordOf(own), '\ufeffid,name,status,category,tags,photoUrls,externalId\r\n7,Monstera,available,Foliage,shade|1000000006:3:1 scale,,\r\n');
  assert.equal(recordOf({ ...own, name: 'a,b' }, ';'), '7;"a,b";available;Foliage;shade|1000000006:3:1 scale;;\r\n');
});

test('no cell is a formula, and reading restores it', async () => {
  for (const name of ['=1+1', '+50 cm', '-x', '@SUM(A1)', "'=1", "''-1", '＝1', '"=1"', "'t Hart", "'", 'a=b']) {
    const text = headerOf(['id', 'name']) + rowOf(['1', name]);
    assert.doesNotMatch(text, /(^|,)"?[=+\-@＝]/m);
    assert.deepEqual(await plantsIn(text), [[2, { id: 1, name }]]);
  }
});

test('files are read as spreadsheets and editors write them', async () => {
  const fern = [[2, { id: 1, name: 'Fern, "fine"', tags: [{ name: 'wet' }, { name: 'shade' }] }]];
  const row = '1,"Fern, ""fine""",wet|shade';
  for (const text of [
    `id,name,tags\n${row}`,
    `id,name,tags\r\n${row}\r\n`,
    `id,name,tags\r${row}\r`,
    `\ufeffID, Name ,TAGS,,\r\n${row},,\r\n,,\r\n ,,\r\n`,
    `"id","name","tags"\n1, "Fern, ""fine""" ,wet | shade|\n`,
    'id;name;tags\n1;"Fern, ""fine""";wet|shade\n',
    'id\tname\ttags\n1\t"Fern, ""fine"""\twet|shade\n',
    Buffer.from(`\ufeffid,name,tags\n${row}`, 'utf16le'),
    Buffer.from(`\ufeffid,name,tags\n${row}`, 'utf16le').swap16(),
  ]) assert.deepEqual(await plantsIn(text), fern);
  assert.deepEqual(await plantsIn('sep=;\r\nid;name\r\n1;Fern\r\n'), [[3, { id: 1, name: 'Fern' }]]);
});

test('a file with other names is read by its columns, in its encoding and with its separator', async () => {
  const bytes = Buffer.from([...Buffer.from('Nr;"Name; botanical";Price\n;Calath'), 0xe9, ...Buffer.from('a;2,50\n7;"a;b";\n')]);
  for (const size of sizes) {
    await assert.rejects(Array.fromAsync(rowsOf(cut(bytes, size))), BadEncoding);
    const rows = () => rowsOf(cut(bytes, size), { encoding: 'windows-1252' });
    assert.deepEqual((await Array.fromAsync(rows())).map(({ cells }) => cells), [['Nr', 'Name; botanical', 'Price'], ['', 'Calathéa', '2,50'], ['7', 'a;b', '']]);
    assert.deepEqual(await Array.fromAsync(plantsOf(rows(), ['id', 'name', null])), [{ number: 2, text: '{"name":"Calathéa"}', isNew: true, cells: ['', 'Calathéa', '2,50'] }, { number: 3, text: '{"id":7,"name":"a;b"}', cells: ['7', 'a;b', ''] }]);
    // An external id names a plant, too.
    assert.deepEqual(await Array.fromAsync(plantsOf(rows(), [null, 'name', 'externalId'])), [{ number: 2, text: '{"name":"Calathéa","externalId":"2,50"}', cells: ['', 'Calathéa', '2,50'] }, { number: 3, text: '{"name":"a;b"}', isNew: true, cells: ['7', 'a;b', ''] }]);
    assert.deepEqual((await Array.fromAsync(rowsOf(cut('a;b,c;d\n', size), { separator: ',' }))).map(({ cells }) => cells), [['a;b', 'c;d']]);
  }
});

test('tags are separated by what the reader says', async () => {
  const tagsBy = async (/** @type {string | undefined} */ separator, /** @type {string} */ cell) => {
    const [{ text = '{}' } = {}] = await Array.fromAsync(plantsOf(rowsOf(cut(`name,tags\nFern,"${cell}"\n`, 7)), undefined, separator));
    return JSON.parse(text).tags.map((/** @type {{ name: string }} */ { name }) => name);
  };
  assert.deepEqual(await tagsBy(undefined, 'shade, humid|a\\|b'), ['shade, humid', 'a|b']);
  assert.deepEqual(await tagsBy(',', 'shade, humid,,a|b '), ['shade', 'humid', 'a|b']);
  assert.deepEqual(await tagsBy(';', 'shade; humid, wet'), ['shade', 'humid, wet']);
});

test('quantities and statuses are read as spreadsheets and suppliers write them', async () => {
  const quantity = async (/** @type {string} */ text, /** @type {string} */ separator) => (await plantsIn(`name${separator}quantity\nFern${separator}"${text}"\n`))[0]?.[1].quantity;
  for (const [text, semicolon, comma] of /** @type {const} */ ([
    ['12,0', 12, '12,0'], ['12.0', '12.0', 12], ['1.250', 1250, '1.250'], ['1,250', '1,250', 1250], ['1.250,00', 1250, '1.250,00'], ['1 250', 1250, 1250], ['1\u00a0250', 1250, 1250],
    ["1'250", 1250, 1250], ['12,5', '12,5', '12,5'], ['1.25', '1.25', '1.25'], ['-5', '-5', '-5'], ['0,0', 0, '0,0'], ['007', '007', '007'],
  ])) assert.deepEqual([text, await quantity(text, ';'), await quantity(text, ',')], [text, semicolon, comma]);
  assert.equal(await quantity('1.250', '\t'), '1.250');
  const statusOf = async (/** @type {string} */ text) => (await plantsIn(`name,status\nFern,${text}\n`))[0]?.[1].status;
  for (const [text, status] of [['Available ', 'available'], ['Verfügbar', 'available'], ['AUSVERKAUFT', 'sold'], ['ausstehend', 'pending'], ['gone', 'gone']]) assert.equal(await statusOf(text ?? ''), status);
});

test('what a spreadsheet would change begins with an apostrophe, which reading takes away; its errors are refused', async () => {
  const plant = { id: 1, name: '0012', status: 'sold', category: { id: 1_000_000_001, name: '12E5' }, tags: [], photoUrls: [], externalId: '12345678901234567890' };
  const text = headerOf(EXPORTED) + recordOf(plant);
  assert.match(text, /\r\n1,'0012,sold,'12E5,,,'12345678901234567890\r\n$/);
  assert.deepEqual(await plantsIn(text), [[2, { id: 1, name: '0012', status: 'sold', category: { name: '12E5' }, externalId: plant.externalId }]]);
  assert.deepEqual(await plantsIn(headerOf(EXPORTED) + recordOf({ ...plant, name: "'007" })), [[2, { id: 1, name: "'007", status: 'sold', category: { name: '12E5' }, externalId: plant.externalId }]]);
  for (const error of ['#N/A', '#REF!', '#WERT!']) assert.deepEqual((await read(`name,externalId\nFern,${error}\n`)).map(({ fault }) => fault), [`column externalId: ${error} is an error of the spreadsheet. Correct it there.`]);
});

test('lines are numbered as an editor shows them', async () => {
  const text = '\r\nid,name\r\n\r\n1,"a\r\n\nb"\r\n,\r\n2,c\r3,d\n\n4,e';
  assert.deepEqual((await plantsIn(text)).map(([line, { id }]) => [line, id]), [[4, 1], [8, 2], [9, 3], [11, 4]]);
  assert.deepEqual((await read(text)).filter(({ text: one }) => one === '').map(({ number }) => number), [1, 3, 7, 10]);
});

test('what LibreOffice writes', async () => {
  const expected = [
    { number: 2, text: '{"id":920101,"name":"Calathéa \\"Crème\\"","status":"available","category":{"name":"Foliage"},"tags":[{"name":"shade"},{"name":"humid"}],"photoUrls":["https://pictures.example/920101.jpg"],"quantity":12}' },
    { number: 3, text: '{"id":920102,"name":"Aloe × nobilis, small","status":"sold","tags":[{"name":"sun; dry"}],"quantity":0}' },
    { number: 4, text: '' },
    { number: 5, text: '{"id":920103,"name":"Two\\nlines","status":"pending","category":{"id":7,"name":"Succulents"},"quantity":3}' },
    { number: 7, text: '{"id":920104,"name":"+50 cm Kentia","status":"available"}' },
  ];
  for (const name of ['comma-utf8', 'tab-utf16']) assert.deepEqual((await Array.fromAsync(sourceLines('csv', fixture(name)))).map(({ number, text }) => ({ number, text })), expected);
  await assert.rejects(Array.fromAsync(sourceLines('csv', fixture('semicolon-windows1252'))), /^Error: Line 2, column 15 is not UTF-8\. Save the file as “CSV UTF-8”/);
});

test('a file that would be damaged is refused with the place', async () => {
  await refuses(Buffer.from('id,name,status\r\n1,Calath\xeda,sold\r\n', 'latin1'), /^Line 2, column 9 is not UTF-8/);
  await refuses(Buffer.from('id,name\r1,Caf\xe9', 'latin1'), /^Line 2, column 6 is not UTF-8/);
  await refuses(Buffer.from('id,name\n1,🌵\xff\n', 'latin1'), /^Line 2, column \d+ is not UTF-8/);
  await refuses(Buffer.from([0xff, 0xfe, 0x69, 0, 0, 0xdc]), /^Line 1, column 2 is not UTF-16/);
  await refuses('id,name\n\n1,"x,sold\n2,y\n', /^The quote of line 3 is never closed/);
  await refuses('id,name\n1,"x,sold\n2,"y",\n', /^In line 3, text follows a quote .* Is the quote of line 2 closed/);
  await assert.rejects(read(`id,name\n1,"${'x'.repeat(600_000)}\n`, 65_536), /^Error: The quote of line 2 is never closed/);
});

test('a header names each column once, in any case', async () => {
  await refuses('id,name,Status,tag,photo_urls\n', /^Line 1 names columns that do not exist: “tag” \(did you mean “tags”\?\), “photo_urls” \(did you mean “photoUrls”\?\)/);
  await refuses('id,name,stock,qty\n', /“qty” \(did you mean “quantity”\?\)/);
  await refuses('number,title\n1,x\n', /^Line 1 must name the columns, name among them; it begins with “number title”/);
  await refuses('id,name,Name\n', /names the column “name” twice/);
  await refuses(' \n', /is empty/);
});

test('rows whose cells would be lost or changed are refused', async () => {
  const faults = await plantsIn('id,name,,tags,category\n1,Aloe, vera,,\n2,a,,b,c,d\n3,x,,3.0:red\n4,x,,,1e3:red\n5,x,,007:red\n6\n7,x,,12:red|7:\n');
  assert.deepEqual(faults, [
    [2, 'column 3 has a value, but no name in the header.'],
    [3, 'has 6 cells, the header 5. Put a cell that contains a comma in quotes.'],
    [4, 'column tags: the id in “3.0:red” must be a whole number, without decimals, signs or leading zeros.'],
    [5, 'column category: the id in “1e3:red” must be a whole number, without decimals, signs or leading zeros.'],
    [6, 'column tags: the id in “007:red” must be a whole number, without decimals, signs or leading zeros.'],
    [7, { id: 6 }],
    [8, { id: 7, name: 'x', tags: [{ id: 12, name: 'red' }, { id: 7 }] }],
  ]);
});

test('a value that is not a whole number stays text, for the shop to refuse', async () => {
  for (const id of ['x1', '1.0', '1e3', '007', '1 000', '-1']) assert.deepEqual(await plantsIn(`id,name,quantity\n${id},Fern, 7 \n`), [[2, { id, name: 'Fern', quantity: 7 }]]);
});

test('NDJSON may contain every character but newlines in a line', async () => {
  const lines = ['{"name":"a\u2028b\u2029\u0085"}', ' \r', '{"name":"ÿ"}'];
  for (const size of sizes) {
    assert.deepEqual(await Array.fromAsync(linesOf(cut(lines.join('\n'), size))), lines);
    assert.deepEqual((await Array.fromAsync(sourceLines('ndjson', cut(`\ufeff${lines.join('\n')}\n`, size)))).map(({ text }) => text), [lines[0], '', lines[2]]);
  }
  await assert.rejects(Array.fromAsync(sourceLines('ndjson', cut(Buffer.from('{}\n"\xe9"\n', 'latin1'), 4))), /^Error: Line 2, column 2 is not UTF-8/);
});

test('a refusal names the column', () => {
  assert.equal(whyOf('csv', { errors: [{ pointer: '/tags/1/name', detail: 'must be short' }, { pointer: '/status', detail: 'must be sold' }] }), 'column tags, value 2, must be short; column status must be sold');
  assert.equal(whyOf('ndjson', { errors: [{ pointer: '/tags/1/name', detail: 'must be short' }, { pointer: '', detail: 'must be an object' }] }), 'tags/1/name must be short; the line must be an object');
});

test('a long line, or a long cell, is searched once', async () => {
  // A search from each of its characters took tens of seconds, in which the page did not respond.
  const begin = performance.now();
  for (const line of ['x', ' ']) await assert.rejects(read(line.repeat(65_536), 16_384), BadFile);
  assert.equal((await read(`name,tags\nFern,1${' '.repeat(262_144)}x`, 16_384)).length, 1);
  assert.ok(performance.now() - begin < 5_000);
});
