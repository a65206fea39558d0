import { unzipSync } from 'fflate';
import { BadFile, type Row } from '../../../../../../tools/plants/csv.mjs';

/** Bytes of a workbook's part at most: a small file can be unpacked to a huge one. */
const mostBytes = 64 * 1024 * 1024;

/** A workbook's first sheet. */
export interface Sheet {
  readonly name: string;
  /** Names of those that are not read. */
  readonly others: readonly string[];
  /** The texts and numbers that its cells store. */
  readonly rows: readonly Row[];
}

/** Reads a workbook (.xlsx). @throws BadFile */
export function readWorkbook(bytes: Uint8Array): Sheet {
  const parts = unpacked(bytes);
  const workbook = parse(parts, 'xl/workbook.xml');
  const sheets = workbook ? all(workbook, 'sheet') : [];
  const relation = sheets[0]?.getAttributeNS(relations, 'id');
  const related = parse(parts, 'xl/_rels/workbook.xml.rels');
  const target = related && all(related, 'Relationship').find((one) => one.getAttribute('Id') === relation)?.getAttribute('Target');
  const sheet = target === undefined || target === null ? undefined : parse(parts, target.startsWith('/') ? target.slice(1) : `xl/${target}`);
  if (!sheet) throw new BadFile('This is no workbook of Excel. Save the table as .xlsx, or as “CSV UTF-8”.');
  const shared = parse(parts, 'xl/sharedStrings.xml');
  const texts = shared ? all(shared, 'si').map(textOf) : [];
  const [name = '', ...others] = sheets.map((one) => one.getAttribute('name') ?? '');
  const rows = all(sheet, 'row').map((row, index) => {
    const cells: string[] = [];
    for (const [position, cell] of all(row, 'c').entries()) {
      const column = columnOf(cell.getAttribute('r')) ?? position;
      // A damaged reference must not fill the memory.
      if (column > 16_384) continue;
      while (cells.length < column) cells.push('');
      cells[column] = valueOf(cell, texts);
    }
    return { number: Number(row.getAttribute('r') ?? index + 1), cells, separator: '\t' };
  });
  return { name, others, rows };
}

const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

function unpacked(bytes: Uint8Array): Record<string, Uint8Array> {
  try {
    return unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        const isWanted = /^xl\/(workbook\.xml|_rels\/workbook\.xml\.rels|sharedStrings\.xml|worksheets\/[^/]+\.xml)$/.test(name);
        if (isWanted && originalSize > mostBytes) throw new BadFile('This workbook is too large. Save it as “CSV UTF-8”.');
        return isWanted;
      },
    });
  } catch (error) {
    throw error instanceof BadFile ? error : new BadFile('This workbook is damaged. Open it in Excel, and save it again.');
  }
}

function parse(parts: Readonly<Record<string, Uint8Array>>, name: string): Document | undefined {
  const part = parts[name];
  if (!part) return undefined;
  const parsed = new DOMParser().parseFromString(new TextDecoder().decode(part), 'application/xml');
  if (parsed.querySelector('parsererror')) throw new BadFile('This workbook is damaged. Open it in Excel, and save it again.');
  return parsed;
}

/** Elements in any namespace prefix. */
const all = (within: Document | Element, name: string): Element[] => [...within.getElementsByTagNameNS('*', name)];

/** The text without its readings (`rPh`), which Japanese cells have. */
const textOf = (item: Element): string => all(item, 't').filter((text) => text.parentElement?.localName !== 'rPh').map((text) => text.textContent).join('');

function valueOf(cell: Element, texts: readonly string[]): string {
  const type = cell.getAttribute('t');
  if (type === 'inlineStr') return unescaped(textOf(cell));
  const value = all(cell, 'v')[0]?.textContent ?? '';
  if (type === 's') return unescaped(texts[Number(value)] ?? '');
  if (type === 'str' || type === 'e') return unescaped(value);
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  return value === '' ? '' : String(Number(value));
}

/** Excel writes control characters, and what looks like them, as _x000D_. */
const unescaped = (text: string): string => text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** `AB12` → 27. */
function columnOf(reference: string | null): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  return letters === undefined ? undefined : Array.from(letters).reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}
