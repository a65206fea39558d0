import { createHash } from 'node:crypto';
import { Controller, Injectable } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { CoalescedRead } from '@plant-shop/platform/patterns/coalesced-read';
import { Database, type Reader, type Statement } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';

/**
 * A column with the version (`stamp`) of the part of the catalogue that a row of `plants` belongs to, for the statement that reads
 * the row. Each of the 16 parts has a version that every change of one of its plants replaces (docs/decisions/cached-reads.md).
 */
export const stampOfPlant = `(SELECT stamp::text FROM catalogue_stamps WHERE part = plants.id & 15) AS stamp`;

/** A query for the version of the whole catalogue, a hash of its parts' versions: one row with the column `stamp`. */
export const stampOfAll = `
  SELECT encode(sha256(string_agg(stamp::text, ',' ORDER BY stamp)::bytea), 'hex') AS stamp FROM catalogue_stamps`;

// Runs hundreds of times a second. Sorting and hashing in SQL would double the cost (50 and 110 µs with Postgres 15), and usually
// nothing has changed.
const partsNow: Statement = { name: 'read-stamps', text: `SELECT string_agg(stamp::text, ',') AS parts FROM catalogue_stamps` };

/** Returns the versions of all parts, comma-separated, in no particular order. */
async function readPartVersions(db: Reader): Promise<string> {
  return onlyRow(await db.query<{ parts: string }>(partsNow)).parts;
}

@Injectable()
export class CatalogVersionsService {
  private readonly coalesced: CoalescedRead<readonly string[]>;
  private parts = '';
  private versions: readonly string[] = [];

  constructor(private readonly database: Database) {
    this.coalesced = new CoalescedRead(() => this.read());
  }

  /** Returns the version of the whole catalogue, then those of its parts. Concurrent calls share one query. */
  current(): Promise<readonly string[]> {
    return this.coalesced.get();
  }

  private async read(): Promise<readonly string[]> {
    const parts = await readPartVersions(this.database);
    if (parts === this.parts) return this.versions;
    this.versions = catalogVersionsOf(parts.split(','));
    this.parts = parts;
    return this.versions;
  }
}

/** Returns the parts' versions, preceded by that of the whole catalogue, hashed as `stampOfAll` does for lists. */
function catalogVersionsOf(parts: readonly string[]): readonly string[] {
  const whole = createHash('sha256').update(parts.toSorted().join()).digest('hex');
  return [whole, ...parts];
}

@Controller()
export class CatalogVersionsController {
  constructor(private readonly versions: CatalogVersionsService) {}

  @Answers(catalog.readStamps)
  readStamps(): Promise<readonly string[]> {
    return this.versions.current();
  }
}
