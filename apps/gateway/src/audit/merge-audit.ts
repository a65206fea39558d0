import type { AuditEntry } from '@plant-shop/contracts/audit';
import { auditCursor, compareAuditPositions } from '@plant-shop/platform/audit/audit-cursor';

/** One service's share of a page: at most `limit` entries. */
export interface AuditPart {
  readonly service: string;
  readonly entries: readonly AuditEntry[];
  /** The service's cursor, if it has more entries. */
  readonly next: string | undefined;
}

/** Returns the newest `limit` entries of all parts, and the cursor of the next page if there is one. */
export function mergeAudit(
  parts: readonly AuditPart[],
  limit: number,
): { readonly entries: readonly AuditEntry[]; readonly next: string | undefined } {
  const all = parts.flatMap(({ service, entries }) => entries.map((entry) => ({ entry, position: { ...entry, service } })));
  all.sort((one, other) => compareAuditPositions(one.position, other.position));
  const page = all.slice(0, limit);
  const last = page.at(-1);
  const hasMore = all.length > limit || parts.some(({ next }) => next !== undefined);
  return { entries: page.map(({ entry }) => entry), next: last && hasMore ? auditCursor(last.position) : undefined };
}
