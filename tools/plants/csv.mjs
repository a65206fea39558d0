// Plants as CSV (RFC 4180).

export const COLUMNS = /** @type {const} */ (['id', 'name', 'status', 'category', 'tags', 'photoUrls', 'quantity']);

/**
 * Yields the records of a CSV text that arrives in pieces. Quoted fields may contain commas, line ends and doubled quotes.
 * @param {AsyncIterable<string>} pieces @returns {AsyncGenerator<string[]>}
 */
export async function* recordsOf(pieces) {
  /** @type {string[]} */
  let record = [];
  let field = '';
  let quoted = false;
  // This quote may end the field or be the first of two.
  let mayEnd = false;
  let isFirst = true;
  for await (let piece of pieces) {
    if (isFirst && piece.startsWith('\ufeff')) piece = piece.slice(1);
    isFirst = false;
    for (const character of piece) {
      if (quoted) {
        if (mayEnd) {
          mayEnd = false;
          if (character === '"') {
            field += '"';
            continue;
          }
          quoted = false;
        } else {
          if (character === '"') mayEnd = true;
          else field += character;
          continue;
        }
      }
      if (character === '"' && field === '') quoted = true;
      else if (character === ',') {
        record.push(field);
        field = '';
      } else if (character === '\n') {
        record.push(field.replace(/\r$/, ''));
        if (record.length > 1 || record[0] !== '') yield record;
        record = [];
        field = '';
      } else field += character;
    }
  }
  if (quoted && !mayEnd) throw new Error('The file ends inside quotes.');
  record.push(field);
  if (record.length > 1 || record[0] !== '') yield record;
}

/**
 * Converts a record to a plant for the API. Leaves validation to the API: an id that is not a number is sent as text.
 * @param {readonly string[]} names of the columns @param {readonly string[]} record
 */
export function plantOf(names, record) {
  /** @type {Record<string, unknown>} */
  const plant = {};
  names.forEach((name, n) => {
    const value = record[n] ?? '';
    if (value === '') return;
    if (name === 'id' || name === 'quantity') plant[name] = numberOf(value);
    else if (name === 'category') plant['category'] = labelOf(value);
    else if (name === 'tags') plant['tags'] = listOf(value).map(labelOf);
    else if (name === 'photoUrls') plant['photoUrls'] = listOf(value);
    else plant[name] = value;
  });
  return plant;
}

/** @param {string} value */
const numberOf = (value) => (/^\d{1,16}$/.test(value.trim()) ? Number(value) : value);

/** Splits a list separated by |, which values escape as \|. @param {string} value */
const listOf = (value) => (value.match(/(?:\\[\s\S]|[^|\\])+/g) ?? []).map((one) => one.replace(/\\([\s\S])/g, '$1'));

/** @param {string} value */
function labelOf(value) {
  const [, id, name] = /^(\d{1,16}):([\s\S]*)$/.exec(value) ?? [];
  if (id === undefined) return { name: value };
  return { id: Number(id), ...(name !== '' && { name }) };
}

/** @param {any} plant from the API @returns {string} one record */
export function recordOf(plant) {
  /** @type {Record<string, string>} */
  const values = {
    id: String(plant.id),
    name: plant.name,
    status: plant.status,
    category: plant.category ? textOf(plant.category) : '',
    tags: plant.tags.map((/** @type {any} */ tag) => escaped(textOf(tag))).join('|'),
    photoUrls: plant.photoUrls.map(escaped).join('|'),
  };
  return `${COLUMNS.map((name) => quotedIfNeeded(values[name] ?? '')).join(',')}\r\n`;
}

export const header = () => `${COLUMNS.join(',')}\r\n`;

/** @param {{ id?: number, name?: string }} label */
const textOf = ({ id, name }) => `${id === undefined ? '' : `${id}:`}${name ?? ''}`;

const escaped = (/** @type {string} */ value) => value.replace(/[\\|]/g, '\\$&');

/** @param {string} value */
export const quotedIfNeeded = (value) => (/[",\r\n]|^\s|\s$|^\ufeff/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
