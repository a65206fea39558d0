import { crc32, deflateRawSync } from 'node:zlib';

/** `style` 1: a day, 2: with five digits. @typedef {string | number | undefined | { style: 1 | 2, value: number } | { error: string }} Cell */

/**
 * A workbook as Excel saves it, with rows in the first of two sheets: texts are shared, numbers are not, empty cells are absent.
 * @param {readonly (readonly Cell[])[]} rows
 */
export function workbookOf(rows) {
  const texts = new Map([...new Set(rows.flat().filter((cell) => typeof cell === 'string'))].map((text, index) => [text, index]));
  const cellOf = (/** @type {Cell} */ cell, /** @type {string} */ at) => {
    if (cell === undefined) return '';
    if (typeof cell === 'object') return 'error' in cell ? `<c r="${at}" t="e"><v>${cell.error}</v></c>` : `<c r="${at}" s="${cell.style}"><v>${cell.value}</v></c>`;
    return typeof cell === 'number' ? `<c r="${at}"><v>${cell}</v></c>` : `<c r="${at}" t="s"><v>${texts.get(cell)}</v></c>`;
  };
  const sheet = rows.map((cells, row) => `<row r="${row + 1}">${cells.map((cell, column) => cellOf(cell, `${String.fromCharCode(65 + column)}${row + 1}`)).join('')}</row>`).join('');
  const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
  const document = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  return zip({
    'xl/workbook.xml': `<workbook ${main} xmlns:r="${document}"><sheets><sheet name="Plants" sheetId="1" r:id="rId1"/><sheet name="Info" sheetId="2" r:id="rId2"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="${document}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet ${main}><numFmts count="1"><numFmt numFmtId="164" formatCode="00000"/></numFmts><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': `<sst ${main}>${[...texts.keys()].map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`).join('')}</sst>`,
    'xl/worksheets/sheet1.xml': `<worksheet ${main}><sheetData>${sheet}</sheetData></worksheet>`,
  });
}

const escaped = (/** @type {string} */ text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** @param {Record<string, string>} files */
function zip(files) {
  /** @type {Buffer[]} */
  const locals = [];
  /** @type {Buffer[]} */
  const central = [];
  let offset = 0;
  for (const [path, text] of Object.entries(files)) {
    const [name, content] = [Buffer.from(path), Buffer.from(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${text}`)];
    const packed = deflateRawSync(content);
    // From the version that is needed to the length of the extra field: the same in both headers.
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(8, 4);
    shared.writeUInt32LE(crc32(content), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(content.length, 18);
    shared.writeUInt16LE(name.length, 22);
    locals.push(Buffer.from('PK\u0003\u0004'), shared, name, packed);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    central.push(Buffer.from('PK\u0001\u0002'), Buffer.from([20, 0]), shared, rest, name);
    offset += 30 + name.length + packed.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006');
  end.writeUInt16LE(Object.keys(files).length, 8);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}
