import type { FieldError } from '@plant-shop/platform/errors';
import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { ArrayMaxSize, IsArray, IsString } from 'class-validator';
import { permission } from './permissions.js';
import type { Plant } from './catalog.plants.js';
import { forClientsUnder } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Integer, Pattern } from './fields.js';
import { Schema } from './schema.js';

// The import and export of many plants.

/** Maximum number of lines in one call. */
export const maxImportLines = 256;

/** Creates and replaces plants by their ids, or external ids. Each line is the JSON of one `ImportedPlant`, and succeeds or fails alone. */
export class ImportPlants {
  @IsArray({ message: 'must be a list' })
  @ArrayMaxSize(maxImportLines)
  @IsString({ each: true })
  @Schema({ type: 'array', maxItems: maxImportLines, items: { type: 'string' } })
  lines: string[];
}

/** Reads from a snapshot of the catalogue that `beginExport` holds open. */
export class ReadExport {
  @Pattern(/^[0-9A-F]{1,16}-[0-9A-F]{1,16}-[0-9]{1,10}$/, 'must be a snapshot of beginExport', {})
  snapshot: string;

  /** The incarnation of the last plant read; 0 for the first page. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  after: number;
}

export class EndExport {
  @Pattern(/^[0-9A-F]{1,16}-[0-9A-F]{1,16}-[0-9]{1,10}$/, 'must be a snapshot of beginExport', {})
  snapshot: string;
}

// Answers

export interface ImportRefusal {
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly FieldError[];
}

/** The result of one line of an import. */
export type ImportLineResult =
  | { readonly id: number; readonly result: 'created' | 'updated' | 'unchanged' }
  /** Refused, so nothing of the line was stored. `id` is present if it could be read. */
  | { readonly id?: number; readonly refused: ImportRefusal };

/** A plant before or after a line of an import. A category or tag without an id: the shop would assign one. */
export type PreviewedPlant = Omit<Plant, 'id' | 'updatedAt' | 'tags'> & {
  readonly id?: number;
  readonly tags: readonly { readonly id?: number; readonly name: string }[];
};

/**
 * What importing a line would do. Without `id`: the shop would assign it. Without `before`: both plants are larger than an answer. `namesake`: a plant
 * that has the name of the new one already.
 */
export type ImportLinePreview =
  | { readonly id?: number; readonly result: 'created'; readonly after: PreviewedPlant; readonly namesake?: number }
  | { readonly id?: number; readonly result: 'updated' | 'unchanged'; readonly before?: PreviewedPlant | undefined; readonly after: PreviewedPlant }
  | { readonly id?: number; readonly refused: ImportRefusal };

/** A page of plants in order of creation. */
export interface ExportedPage {
  readonly plants: readonly Plant[];
  /** `after` of the next page; absent on the last one. */
  readonly next?: number;
}

const { read, write } = operationsOf<ErrorCode>('catalog');
const forClients = forClientsUnder('Plants');

/** `invalid-cursor`: the snapshot is no longer open. */
const readExport = read<ExportedPage>()('readExport', ReadExport, { errors: ['invalid-cursor'] });
const endExport = write<{ snapshot: string }>()('endExport', EndExport);

export const transferOperations = {
  /**
   * Answers one result per line, in order, once all its plants can be ordered. It is safe to repeat, and then also sends the
   * store what an earlier call did not.
   */
  importPlants: forClients(
    write<ImportLineResult[]>()('importPlants', ImportPlants),
    {
      route: 'POST /v3/plant/import',
      access: permission('write:plants'),
      weight: 'time',
      summary: 'Import plants',
      description:
        'Creates or replaces plants by id, one `ImportedPlant` per line, in a stream of any length. A line with `externalId` and without `id` ' +
        'is for the plant with that external id, and changes what it says; without such a plant it creates one. The response is a stream too: a result ' +
        'per line (`created`, `updated`, `unchanged`, or `refused` with a problem), then a line with totals. If the import ended early, ' +
        '`complete` is `false` in the totals and `lines` is the number of the last line that was processed; send the remaining lines, or ' +
        'all of them, again. Read the response while you send. Lines are limited to 512 KiB, and the request to the usual time limit ' +
        '(120 s by default).',
      body: { kind: 'lines' },
      budgetFactor: 3,
      answer: {
        kind: 'lines',
        description: 'A result per line, then a line with totals',
        example: [
          { line: 1, id: 7, result: 'created' },
          { lines: 1, created: 1, updated: 0, unchanged: 0, refused: 0, complete: true },
        ],
      },
    },
  ),
  /** Answers for as many of the first lines as an answer holds. */
  previewImport: forClients(
    read<ImportLinePreview[]>()('previewImport', ImportPlants),
    {
      route: 'POST /v3/plant/import/preview',
      access: permission('write:plants'),
      weight: 'time',
      summary: 'Preview an import',
      description:
        `What an import of up to ${maxImportLines} lines, together at most 256 KiB unless it is one, would do, each after the lines before it. ` +
        'Changes nothing. `complete` is `false` if the plants are too large for one answer: send the remaining lines again. The results are those of an import with the plant `before` and `after`, and with its `free` units if the line has ' +
        'a quantity. A line without `id` and `externalId` is read as `POST /v3/plant` reads a body. Ids that the shop would assign are absent. ' +
        '`namesake` is the id of a plant that has the name of a new one.',
      body: { kind: 'lines' },
      answer: {
        kind: 'lines',
        description: 'A result per line, then a line with totals',
        example: [
          {
            line: 1,
            id: 7,
            result: 'updated',
            before: { id: 7, name: 'Monstera', photoUrls: [], tags: [], status: 'available' },
            after: { id: 7, name: 'Monstera', photoUrls: [], tags: [{ name: 'shade' }], status: 'available' },
            free: { before: 3, after: 20 },
          },
          { lines: 1, created: 0, updated: 1, unchanged: 0, refused: 0, complete: true },
        ],
      },
    },
  ),
  /** Holds a snapshot open while it is read at least every 15 s, for at most an hour. */
  beginExport: forClients(
    write<{ snapshot: string }>()('beginExport', NoPayload, { errors: ['overloaded'] }),
    {
      name: 'exportPlants',
      route: 'GET /v3/plant/export',
      access: permission('write:plants'),
      weight: 'time',
      summary: 'Export all plants',
      description:
        'All plants at one point in time, in the order of their creation, one per line. An export can be imported into this or another ' +
        'shop. It does not include stock and the content of images. If the connection breaks before the end of the body, the export is ' +
        'incomplete.',
      alsoCalls: [readExport, endExport],
      answer: {
        kind: 'lines',
        description: 'One plant per line',
        example: [{ id: 7, name: 'Monstera', photoUrls: [], tags: [{ id: 1, name: 'shade' }], status: 'available' }],
      },
    },
  ),
  readExport,
  endExport,
};
