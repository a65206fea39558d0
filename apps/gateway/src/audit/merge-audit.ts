import type { AuditEntry } from '@plant-shop/contracts/audit';
import { auditCursor, compareAuditPositions } from '@plant-shop/platform/audit/audit-cursor';

/** What one service answered for a page of `limit` entries. */
export interface AuditPart {
  readonly service: string;
  readonly entries: readonly AuditEntry[];
  /** Its cursor, when it has more. */
  readonly next: string | undefined;
}

/** The first `limit` entries of all parts together, and where the next page begins if there is one. */
export function mergeAudit(
  parts: readonly AuditPart[],
  limit: number,
): { readonly entries: readonly AuditEntry[]; readonly next: string | undefined } {
  const all = parts.flatMap(({ service, entries }) => entries.map((entry) => ({ entry, place: { ...entry, service } })));
  all.sort((one, other) => compareAuditPositions(one.place, other.place));
  const page = all.slice(0, limit);
  const last = page.at(-1);
  const goesOn = all.length > limit || parts.some(({ next }) => next !== undefined);
  return { entries: page.map(({ entry }) => entry), next: last && goesOn ? auditCursor(last.place) : undefined };
}
