import { describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '@plant-shop/contracts/audit';
import { auditCursor, boundsOf } from '@plant-shop/platform/patterns/audit-log';
import fc from 'fast-check';
import { type AuditPart, mergeAudit } from './audit.js';

interface StoredEntry {
  readonly service: string;
  readonly entry: AuditEntry;
}

const services = ['catalog', 'identity', 'store'];
const instant = (ms: number): string => new Date(1_700_000_000_000 + ms).toISOString();

/** The response of a service: its entries below the cursor's bounds, newest first, at most `limit`, or as many as `fit`. */
function partOf(service: string, stored: readonly StoredEntry[], limit: number, fit: number, cursor: string | undefined): AuditPart {
  const { before, beforeId } = boundsOf(service, cursor);
  const isBelow = ({ at, id }: AuditEntry): boolean => before === 'infinity' || at < before || (at === before && id < beforeId);
  const found = stored
    .filter((one) => one.service === service && isBelow(one.entry))
    .map(({ entry }) => entry)
    .sort((a, b) => (a.at === b.at ? b.id - a.id : a.at > b.at ? -1 : 1));
  const entries = found.slice(0, Math.min(limit, fit));
  const last = entries.at(-1);
  return { service, entries, next: last && found.length > entries.length ? auditCursor({ ...last, service }) : undefined };
}

describe('the merged audit logs', () => {
  it('return every entry exactly once, newest first, even when several fall into one millisecond or a service returns few large ones', () => {
    const stored = fc
      .array(fc.record({ service: fc.constantFrom(...services), ms: fc.integer({ min: 0, max: 4 }) }), { maxLength: 40 })
      .map((all) => all.map(({ service, ms }, n): StoredEntry => ({ service, entry: { id: n + 1, at: instant(ms), operation: `${service}.x`, requestId: 'r', credentials: [], target: '1' } })));
    fc.assert(
      fc.property(stored, fc.integer({ min: 1, max: 9 }), fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 3, maxLength: 3 }), (all, limit, fit) => {
        const seen: AuditEntry[] = [];
        for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
          const { entries, next } = mergeAudit(services.map((service, n) => partOf(service, all, limit, fit[n]!, cursor)), limit);
          // Only the first page of an empty log is empty.
          expect(entries.length > 0 || all.length === 0).toBe(true);
          expect(entries.length).toBeLessThanOrEqual(limit);
          seen.push(...entries);
          cursor = next;
        }
        expect(seen.map(({ id }) => id).sort((a, b) => a - b)).toEqual(all.map(({ entry }) => entry.id));
        expect(seen.map(({ at }) => at)).toEqual(seen.map(({ at }) => at).sort().reverse());
      }),
    );
  });

  it.each(['', 'x', Buffer.from('[1,2,3]').toString('base64url'), Buffer.from('["2026-01-01T00:00:00.000Z","store"]').toString('base64url'), Buffer.from('["2026-99-01T00:00:00.000Z","store",1]').toString('base64url')])('refuse an invalid cursor: %p', (cursor) => {
    expect(() => boundsOf('store', cursor)).toThrow(expect.objectContaining({ code: 'invalid-cursor' }));
  });
});
