import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { CoalescedRead } from '@plant-shop/platform/coalesced-read';
import { readPartVersions } from './catalog-versions.repository.js';

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
