// Plants as files: CSV (RFC 4180, as spreadsheets write it) and NDJSON. Runs in Node and in browsers.

export const COLUMNS = /** @type {const} */ (['id', 'name', 'status', 'category', 'tags', 'photoUrls', 'externalId', 'quantity']);

/** The columns of an export: plants have no stock, which the store keeps, and an import leaves it unchanged without a value. */
export const EXPORTED = COLUMNS.filter((name) => name !== 'quantity');

/** The API's limit for a line. Also bounds the memory that a file without line ends, or with an open quote, may take. */
const LONGEST = 512 * 1024;

/** @typedef {'csv' | 'ndjson'} Format */

/** A file that cannot be read as a whole; the message says where and what to do. */
export class BadFile extends Error {}

/** A file in another encoding than it was read in. */
export class BadEncoding extends BadFile {}

/**
 * A line of a file. `number` is that of the line in the file, as an editor shows it, where the row begins. `text` is a plant's JSON, and empty for a
 * line or row without content. `isNew`: the plant has neither id nor external id, so the shop adds one. `fault`: the row cannot be sent, and `text` is its content.
 * `cells`: those of a row, as `rowOf` takes them.
 * @typedef {{ number: number, text: string, isNew?: true, fault?: string, cells?: readonly string[] }} SourceLine
 */

/** A row as it is in the file. `separator`: empty in a workbook. @typedef {{ number: number, cells: readonly string[], separator: string }} Row */

/**
 * What is known of a CSV file and not to be seen in it. `encoding`: its own if it has no byte order mark, instead of UTF-8.
 * `tagSeparator`: what separates several tags, instead of |.
 * @typedef {{ encoding?: string, separator?: string, tagSeparator?: string }} Reading
 */

/**
 * Yields the lines of a file.
 * @param {Format} format @param {AsyncIterable<Uint8Array>} bytes @returns {AsyncGenerator<SourceLine, void>}
 */
export async function* sourceLines(format, bytes) {
  if (format === 'csv') yield* plantsOf(rowsOf(bytes));
  else {
    let number = 0;
    for await (const line of linesOf(bytes)) yield { number: ++number, text: line.trim() === '' ? '' : line };
  }
}

/** Yields the lines of a text, separated by newlines. @param {AsyncIterable<Uint8Array>} bytes @returns {AsyncGenerator<string, void>} */
export async function* linesOf(bytes) {
  let number = 0;
  let rest = '';
  for await (const piece of textOf(bytes)) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    number += lines.length;
    if (rest.length > LONGEST) throw new BadFile(`Line ${number + 1} is longer than the shop takes. NDJSON has one plant a line.`);
    yield* lines;
  }
  if (rest !== '') yield rest;
}

// Decoding

/**
 * Decodes UTF-8, or UTF-16 after a byte order mark. Refuses other bytes: replacing them would store damaged names.
 * @param {AsyncIterable<Uint8Array>} chunks @param {string} [unmarked] the encoding of a file without a mark @returns {AsyncGenerator<string, void>}
 */
async function* textOf(chunks, unmarked = 'utf-8') {
  /** The beginning of the file, or of a character that the next chunk completes. @type {Uint8Array} */
  let held = new Uint8Array();
  let encoding = '';
  let line = 1;
  let column = 1;
  let endsInReturn = false;
  const advance = (/** @type {string} */ text) => {
    const ends = [...text.matchAll(/\r\n?|\n/g)];
    const last = ends.at(-1);
    line += ends.length - (endsInReturn && text.startsWith('\n') ? 1 : 0);
    column = (last ? 1 : column) + [...text.slice(last ? last.index + last[0].length : 0)].length;
    if (text !== '') endsInReturn = text.endsWith('\r');
    return text;
  };
  const decoded = (/** @type {Uint8Array} */ bytes) => {
    try {
      return advance(new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes));
    } catch {
      advance(readable(encoding, bytes));
      const name = encoding === 'utf-8' ? 'UTF-8' : 'UTF-16';
      throw new BadEncoding(`Line ${line}, column ${column} is not ${name}. Save the file as “CSV UTF-8”, or as text in UTF-8.`);
    }
  };
  for await (const chunk of chunks) {
    let bytes = chunk;
    if (held.length > 0) {
      bytes = new Uint8Array(held.length + chunk.length);
      bytes.set(held);
      bytes.set(chunk, held.length);
    }
    if (encoding === '') {
      held = bytes;
      if (bytes.length < 3) continue;
      [encoding, bytes] = withoutMark(bytes, unmarked);
    }
    const end = endOfCharacters(encoding, bytes);
    held = bytes.slice(end);
    yield decoded(bytes.subarray(0, end));
  }
  if (encoding === '') [encoding, held] = withoutMark(held, unmarked);
  yield decoded(held);
}

const MARKS = [
  { name: 'UTF-8', encoding: 'utf-8', mark: [0xef, 0xbb, 0xbf] },
  { name: 'UTF-16', encoding: 'utf-16le', mark: [0xff, 0xfe] },
  { name: 'UTF-16, big-endian', encoding: 'utf-16be', mark: [0xfe, 0xff] },
];

/** Returns the byte order mark that a file begins with. @param {Uint8Array} bytes */
export const markOf = (bytes) => MARKS.find(({ mark }) => mark.every((byte, n) => bytes[n] === byte));

/** @param {Uint8Array} bytes @param {string} unmarked @returns {[encoding: string, bytes: Uint8Array]} */
function withoutMark(bytes, unmarked) {
  const { encoding = unmarked, mark = [] } = markOf(bytes) ?? {};
  return [encoding, bytes.subarray(mark.length)];
}

/** Where the last character begins if it may be incomplete. @param {string} encoding @param {Uint8Array} bytes */
function endOfCharacters(encoding, bytes) {
  const { length } = bytes;
  if (encoding === 'utf-8') {
    for (let at = length - 1; at >= Math.max(0, length - 3); at--) if ((bytes[at] ?? 0) >= 0xc0) return at;
    return length;
  }
  if (!encoding.startsWith('utf-16')) return length;
  const even = length - (length % 2);
  const high = bytes[encoding === 'utf-16le' ? even - 1 : even - 2] ?? 0;
  return (high & 0xfc) === 0xd8 ? even - 2 : even;
}

/** The text before the first byte that cannot be decoded. @param {string} encoding @param {Uint8Array} bytes */
function readable(encoding, bytes) {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  let text = '';
  try {
    for (let at = 0; at < bytes.length; at++) text += decoder.decode(bytes.subarray(at, at + 1), { stream: true });
  } catch {
    return text;
  }
  return text;
}

// Reading CSV

const SEPARATORS = /** @type {const} */ ({ ',': 'comma', ';': 'semicolon', '\t': 'tab' });

/**
 * Yields the plants of rows, the first of which names the columns.
 * @param {AsyncIterable<Row>} rows @param {Header} [columns] instead of those that it names @param {string} [tagSeparator] @returns {AsyncGenerator<SourceLine, void>}
 */
export async function* plantsOf(rows, columns, tagSeparator) {
  /** @type {Header | undefined} */
  let names;
  for await (const { number, cells, separator } of rows) {
    if (cells.every((cell) => cell.trim() === '')) yield { number, text: '' };
    else if (names) yield { number, ...readRow(names, cells, separator, tagSeparator), cells: cells.map(unescaped) };
    else names = columns ?? readHeader(number, cells);
  }
  if (!names) throw new BadFile('The file is empty. Its first line must name the columns, name among them.');
}

/** Makes the first piece contain the first line that is not blank. @param {AsyncIterable<string>} pieces @returns {AsyncGenerator<string, void>} */
async function* withFirstLine(pieces) {
  let begin = '';
  let isWhole = false;
  for await (const piece of pieces) {
    if (isWhole) yield piece;
    else {
      begin += piece;
      isWhole = /[\r\n]/.test(begin.trimStart()) || begin.length > LONGEST;
      if (isWhole) yield begin;
    }
  }
  if (!isWhole) yield begin;
}

/**
 * Returns what separates the cells, and the text after Excel's line `sep=;` if it begins with one. Otherwise it is what splits the first line into
 * the most names of columns, or into the most cells.
 * @param {string} begin
 */
function separatorOf(begin) {
  const line = begin.split(/[\r\n]+/).find((one) => one.trim() !== '') ?? '';
  const named = /^sep=(.)$/i.exec(line)?.[1];
  if (named) return { separator: named, text: begin.replace(line, '') };
  const columnsBy = (/** @type {string} */ separator) => line.split(separator).filter((name) => columnOf(name.replaceAll('"', ''))).length;
  const cellsBy = (/** @type {string} */ separator) => line.replace(/"[^"]*"/g, '').split(separator).length;
  const [separator = ','] = Object.keys(SEPARATORS).sort((a, b) => columnsBy(b) - columnsBy(a) || cellsBy(b) - cellsBy(a));
  return { separator, text: begin };
}

/**
 * Yields the rows of a CSV file. Quoted cells may contain separators, line ends and doubled quotes.
 * @param {AsyncIterable<Uint8Array>} bytes @param {Reading} [reading] @returns {AsyncGenerator<Row, void>}
 */
export async function* rowsOf(bytes, { encoding, separator: known } = {}) {
  let separator = '';
  /** @type {string[]} */
  let cells = [];
  let cell = '';
  /** `closed`: at a quote that ends the cell, unless another follows. @type {'empty' | 'plain' | 'quoted' | 'closed'} */
  let state = 'empty';
  let line = 1;
  let number = 1;
  let quotedFrom = 0;
  let length = 0;
  let isAfterReturn = false;
  for await (let piece of withFirstLine(textOf(bytes, encoding))) {
    if (separator === '') {
      ({ separator, text: piece } = separatorOf(piece));
      separator = known ?? separator;
    }
    for (const character of piece) {
      const isRestOfEnd = isAfterReturn && character === '\n';
      const isEnd = character === '\r' || (character === '\n' && !isRestOfEnd);
      isAfterReturn = character === '\r';
      if (isEnd) line++;
      if (++length > LONGEST) throw new BadFile(state === 'quoted' ? unclosed(quotedFrom) : `The row of line ${number} is longer than the shop takes.`);
      if (state === 'quoted') {
        if (character === '"') state = 'closed';
        else cell += character;
      } else if (state === 'closed' && character === '"') {
        state = 'quoted';
        cell += character;
      } else if (character === separator || isEnd) {
        cells.push(cell);
        cell = '';
        state = 'empty';
        if (!isEnd) continue;
        yield { number, cells, separator };
        cells = [];
        number = line;
        length = 0;
      } else if (isRestOfEnd) length = 0;
      else if (state === 'closed') {
        if (character === ' ') continue;
        throw new BadFile(`In line ${line}, text follows a quote that ends a cell. Quotes within a quoted cell must be doubled. Is the quote of line ${quotedFrom} closed?`);
      } else if (state === 'empty' && character === '"') {
        state = 'quoted';
        cell = '';
        quotedFrom = line;
      } else {
        if (character !== ' ') state = 'plain';
        cell += character;
      }
    }
  }
  if (state === 'quoted') throw new BadFile(unclosed(quotedFrom));
  if (length > 0) yield { number, cells: [...cells, cell], separator };
}

const unclosed = (/** @type {number} */ line) => `The quote of line ${line} is never closed. Close it, or double it if it belongs to the text.`;

/** The columns by position: undefined for one without a name, null for one to leave out. @typedef {readonly ((typeof COLUMNS)[number] | undefined | null)[]} Header */

/** The column that a header names, in any case. */
export const columnOf = (/** @type {string} */ name) => COLUMNS.find((one) => one.toLowerCase() === name.trim().toLowerCase());

/** @param {number} number @param {readonly string[]} cells @returns {Header} */
function readHeader(number, cells) {
  const names = cells.map(columnOf);
  const unknown = cells.map((cell) => cell.trim()).filter((cell, n) => cell !== '' && !names[n]);
  const known = `The columns are ${COLUMNS.join(', ')}.`;
  if (!names.includes('name')) {
    throw new BadFile(`Line ${number} must name the columns, name among them; it begins with “${cells.join(' ').slice(0, 40)}”. ${known}`);
  }
  if (unknown.length > 0) {
    const suggested = unknown.map((name) => `“${name.slice(0, 40)}” (did you mean “${nearest(name)}”?)`);
    throw new BadFile(`Line ${number} names columns that do not exist: ${suggested.join(', ')}. ${known}`);
  }
  const twice = names.find((name, n) => name && names.indexOf(name) !== n);
  if (twice) throw new BadFile(`Line ${number} names the column “${twice}” twice.`);
  return names;
}

/** The column with the most pairs of letters in common. @param {string} name */
function nearest(name) {
  const pairs = (/** @type {string} */ text) => [...` ${text.toLowerCase().replace(/[^a-z]/g, '')}`].map((letter, n, all) => letter + (all[n + 1] ?? ''));
  const alike = (/** @type {string} */ column) => pairs(name).filter((pair) => pairs(column).includes(pair)).length / (pairs(name).length + pairs(column).length);
  return [...COLUMNS].sort((a, b) => alike(b) - alike(a))[0];
}

/** @param {Header} names @param {readonly string[]} cells @param {string} separator @param {string} [tagSeparator] @returns {Omit<SourceLine, 'number'>} */
function readRow(names, cells, separator, tagSeparator) {
  const refused = (/** @type {string} */ fault) => ({ text: cells.join(separator || '\t'), fault });
  const extra = cells.findLastIndex((cell) => cell.trim() !== '') + 1;
  if (extra > names.length && separator === '') return refused(`has ${extra} cells, the row of the column names ${names.length}. Name the other columns, too, or empty these cells.`);
  if (extra > names.length) {
    const named = SEPARATORS[/** @type {keyof typeof SEPARATORS} */ (separator)] ?? 'separator';
    return refused(`has ${extra} cells, the header ${names.length}. Put a cell that contains a ${named} in quotes.`);
  }
  /** @type {Record<string, unknown>} */
  const plant = {};
  for (const [n, name] of names.entries()) {
    const value = unescaped(cells[n] ?? '');
    if (name === null || value.trim() === '') continue;
    if (!name) return refused(`column ${n + 1} has a value, but no name in the header.`);
    if (ERROR.test(value.trim())) return refused(`column ${name}: ${value.trim()} is an error of the spreadsheet. Correct it there.`);
    if (name === 'id') plant[name] = numberOf(value);
    else if (name === 'quantity') plant[name] = numberOf(withoutMarks(value, separator));
    else if (name === 'status') plant[name] = statusOf(value);
    else if (name === 'name' || name === 'externalId') plant[name] = value;
    else if (name === 'photoUrls') plant[name] = listOf(value);
    else {
      const texts = name === 'tags' ? listOf(value, tagSeparator) : [value];
      const wrong = texts.find((text) => !LABEL.test(text) && NUMBERED.test(text));
      if (wrong !== undefined) return refused(`column ${name}: the id in “${wrong}” must be a whole number, without decimals, signs or leading zeros.`);
      const labels = texts.map(labelOf);
      plant[name] = name === 'tags' ? labels : labels[0];
    }
  }
  return { text: JSON.stringify(plant), ...(plant['id'] === undefined && plant['externalId'] === undefined && { isNew: true }) };
}

/** What spreadsheets show instead of a value that they cannot compute. */
const ERROR = /^#(?:N\/A|NV|REF!|BEZUG!|VALUE!|WERT!|DIV\/0!|NAME\?|NULL!|NUM!|ZAHL!|SPILL!|CALC!)$/;

/** Leaves a value that is no whole number as text, for the shop to refuse. @param {string} value */
const numberOf = (value) => (/^(0|[1-9]\d{0,15})$/.test(value.trim()) ? Number(value) : value);

/** In a file with this separator: what may separate thousands besides blanks and apostrophes, and what begins decimals. @type {Record<string, readonly string[]>} */
const NUMBER_MARKS = { ',': [',', '.'], ';': ['.', ','] };

/** Takes the marks of thousands and decimals that are zero out of a number. @param {string} value @param {string} separator */
function withoutMarks(value, separator) {
  const [thousands = '', decimals] = NUMBER_MARKS[separator] ?? [];
  const number = new RegExp(`^(\\d+|\\d{1,3}(?:[${thousands} \u00a0\u202f'’]\\d{3})+)${decimals === undefined ? '' : `(?:[${decimals}]0+)?`}$`);
  return number.exec(value.trim())?.[1]?.replaceAll(/\D/g, '') ?? value;
}

/** What lists of suppliers call a status, in English and German. */
const STATUSES = { available: ['available', 'verfügbar', 'lieferbar', 'vorrätig'], pending: ['pending', 'ausstehend', 'angekündigt'], sold: ['sold', 'verkauft', 'ausverkauft'] };

/** Leaves an unknown one as it is, for the shop to refuse. @param {string} value */
function statusOf(value) {
  const text = value.trim().toLowerCase();
  return Object.entries(STATUSES).find(([, names]) => names.includes(text))?.[0] ?? value.trim();
}

/** Splits a list separated by |, where `\|` and `\\` stand for | and \; or by something else. @param {string} value @param {string} [separator] */
const listOf = (value, separator = '|') =>
  (separator === '|' ? (value.match(/(?:\\[\\|]|[^|])+/g) ?? []).map((one) => one.trim().replace(/\\([\\|])/g, '$1')) : value.split(separator).map((one) => one.trim())).filter((one) => one !== '');

/** An id and a name. */
const LABEL = /^\s*(0|[1-9]\d{0,15}):([\s\S]*)$/;
/** What looks like an id and a name. */
const NUMBERED = /^\s*[+-]?\d[\d.,' ]{0,30}(e[+-]?\d+)?\s*:/i;

/** @param {string} value */
function labelOf(value) {
  const [, id, name] = LABEL.exec(value) ?? [];
  if (id === undefined) return { name: value };
  return { id: Number(id), ...(name !== '' && { name }) };
}

// Writing CSV

/**
 * What a spreadsheet would run as a formula, or change as a number: it drops leading zeros and digits after the fifteenth, and takes 1E10 for one.
 * Also such a text after apostrophes, so that `unescaped` reverses `escaped`.
 */
const FORMULA = /^'*(?:\s*[=+\-@＝＋－＠\t\r\n]|0\d+$|\d{16,}$|\d+e\d+$)/i;

const escaped = (/** @type {string} */ value) => (FORMULA.test(value) ? `'${value}` : value);
const unescaped = (/** @type {string} */ value) => (value.startsWith("'") && FORMULA.test(value) ? value.slice(1) : value);

/**
 * Returns a row that spreadsheets show as it is: values that they would run or change begin with an apostrophe.
 * @param {readonly string[]} values @param {string} [separator]
 */
export const rowOf = (values, separator = ',') =>
  `${values.map(escaped).map((value) => (/[",;\r\n\t]|^\s|\s$|^\ufeff/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(separator)}\r\n`;

/** The first row of a file. The byte order mark tells Excel that it is UTF-8. @param {readonly string[]} names @param {string} [separator] */
export const headerOf = (names, separator) => `\ufeff${rowOf(names, separator)}`;

/** @param {any} plant from the API @param {string} [separator] @returns {string} one row */
export function recordOf(plant, separator) {
  const list = (/** @type {string[]} */ texts) => texts.map((text) => text.replace(/[\\|]/g, '\\$&')).join('|');
  /** @type {Record<string, string>} */
  const values = {
    id: String(plant.id),
    name: plant.name,
    status: plant.status,
    category: plant.category ? labelText(plant.category) : '',
    tags: list(plant.tags.map(labelText)),
    photoUrls: list(plant.photoUrls),
    externalId: plant.externalId ?? '',
  };
  return rowOf(EXPORTED.map((name) => values[name] ?? ''), separator);
}

/** Ids from here are the shop's own: it gives a name the same one again. */
const FIRST_OWN_ID = 1_000_000_001;

/** The name as it is, with the id if that is not the shop's own or if the name looks like one with an id. @param {{ id?: number, name?: string }} label */
function labelText({ id, name }) {
  if (id === undefined) return name ?? '';
  return name === undefined || id < FIRST_OWN_ID || NUMBERED.test(name) ? `${id}:${name ?? ''}` : name;
}

// Refusals

/**
 * Why the shop refused a line.
 * @param {Format} format
 * @param {{ title?: string, detail?: string, errors?: readonly { pointer?: string, detail: string }[] }} problem
 */
export function whyOf(format, { errors = [], detail, title }) {
  if (errors.length === 0) return detail ?? title ?? 'The shop did not say why.';
  return errors.map(({ pointer = '', detail: fault }) => `${placeOf(format, pointer)} ${fault}`).join('; ');
}

/** @param {Format} format @param {string} pointer */
function placeOf(format, pointer) {
  const [, name = '', entry = ''] = pointer.split('/');
  if (name === '') return 'the line';
  if (format === 'ndjson') return pointer.slice(1);
  return `column ${name}${/^\d+$/.test(entry) ? `, value ${Number(entry) + 1},` : ''}`;
}
