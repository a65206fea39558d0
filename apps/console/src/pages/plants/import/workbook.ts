import { unzipSync } from 'fflate';
import { BadFile, columnOf as columnNamed, type Row } from '../../../../../../tools/plants/csv.mjs';

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
  const formats = formatsIn(parse(parts, 'xl/styles.xml'));
  const startsIn1904 = workbook ? /^(?:1|true)$/.test(all(workbook, 'workbookPr')[0]?.getAttribute('date1904') ?? '') : false;
  const rows = all(sheet, 'row').map((row, index) => {
    const cells: string[] = [];
    for (const [position, cell] of all(row, 'c').entries()) {
      const column = columnOf(cell.getAttribute('r')) ?? position;
      // A damaged reference must not fill the memory.
      if (column > 16_384) continue;
      while (cells.length < column) cells.push('');
      cells[column] = valueOf(cell, texts, formats, startsIn1904);
    }
    return { number: Number(row.getAttribute('r') ?? index + 1), cells, separator: '' };
  });
  return { name, others, rows: withoutTitles(rows) };
}

/** Leaves out titles: rows of one cell above those that name several columns and hold plants. */
function withoutTitles(rows: readonly Row[]): readonly Row[] {
  const widths = rows.slice(0, 20).map(({ cells }) => cells.filter((cell) => cell.trim() !== '').length);
  const first = widths.findIndex((width) => width > 1);
  return first > 0 && widths.filter((width) => width > 1).length > 1 && !rows.slice(0, first).some(({ cells }) => cells.some(columnNamed)) ? rows.slice(first) : rows;
}

const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

function unpacked(bytes: Uint8Array): Record<string, Uint8Array> {
  try {
    return unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        const isWanted = /^xl\/((?:workbook|styles)\.xml|_rels\/workbook\.xml\.rels|sharedStrings\.xml|worksheets\/[^/]+\.xml)$/.test(name);
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

/** What a number format makes of a number, as far as a list of plants needs it. */
type NumberFormat = 'date' | { readonly digits: number } | undefined;

/** Formats of numbers by style, as cells name them. */
function formatsIn(styles: Document | undefined): readonly NumberFormat[] {
  if (!styles) return [];
  const codes = new Map(all(styles, 'numFmt').map((one) => [one.getAttribute('numFmtId'), one.getAttribute('formatCode') ?? '']));
  const list = all(styles, 'cellXfs')[0];
  return (list ? all(list, 'xf') : []).map((style) => {
    const id = style.getAttribute('numFmtId');
    const code = (codes.get(id) ?? '').replaceAll(/"[^"]*"|\\.|\[[^\]]*\]/g, '');
    if (/^0{2,}$/.test(code)) return { digits: code.length };
    // Those that every workbook has for days, with and without a time.
    return (Number(id) >= 14 && Number(id) <= 17) || id === '22' || /[yd]/i.test(code) ? 'date' : undefined;
  });
}

const dayMs = 86_400_000;

/** As Excel shows it in the language of files: 2026-05-31. */
const dateOf = (days: number, startsIn1904: boolean): string => new Date(Date.UTC(startsIn1904 ? 1904 : 1899, startsIn1904 ? 0 : 11, startsIn1904 ? 1 : 30) + Math.floor(days) * dayMs).toISOString().slice(0, 10);

function valueOf(cell: Element, texts: readonly string[], formats: readonly NumberFormat[], startsIn1904: boolean): string {
  const type = cell.getAttribute('t');
  if (type === 'inlineStr') return unescaped(textOf(cell));
  const value = all(cell, 'v')[0]?.textContent ?? '';
  if (type === 's') return unescaped(texts[Number(value)] ?? '');
  if (type === 'str' || type === 'e') return unescaped(value);
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (value === '') return '';
  const [number, format] = [Number(value), formats[Number(cell.getAttribute('s') ?? 0)]];
  if (format === 'date' && number > 0 && number < 2_958_466) return dateOf(number, startsIn1904);
  return typeof format === 'object' ? String(number).padStart(format.digits, '0') : String(number);
}

/** Excel writes control characters, and what looks like them, as _x000D_. */
const unescaped = (text: string): string => text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** `AB12` → 27. */
function columnOf(reference: string | null): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  return letters === undefined ? undefined : Array.from(letters).reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}
