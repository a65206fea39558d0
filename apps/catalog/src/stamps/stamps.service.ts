import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { CoalescedRead } from '@plant-shop/platform/coalesced-read';
import { readStampsOfParts } from './stamps.repository.js';

@Injectable()
export class StampsService {
  private readonly shared: CoalescedRead<readonly string[]>;
  private parts = '';
  private stamps: readonly string[] = [];

  constructor(private readonly database: Database) {
    this.shared = new CoalescedRead(() => this.read());
  }

  /** The stamp of the whole catalogue and those of its parts, once for all who ask at the same time. */
  current(): Promise<readonly string[]> {
    return this.shared.get();
  }

  private async read(): Promise<readonly string[]> {
    const parts = await readStampsOfParts(this.database);
    if (parts === this.parts) return this.stamps;
    this.stamps = stampsOf(parts.split(','));
    this.parts = parts;
    return this.stamps;
  }
}

/** With that of the whole, made as `stampOfAll` makes it for lists. */
function stampsOf(parts: readonly string[]): readonly string[] {
  const whole = createHash('sha256').update(parts.toSorted().join()).digest('hex');
  return [whole, ...parts];
}
