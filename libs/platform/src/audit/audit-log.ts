import type { Database, Statement, Transaction } from '../postgres/database.js';
import { Page } from '../rpc/answer.js';
import type { RpcContext } from '../rpc/context.js';
import type { PageRequested } from '../paging.js';
import { auditCursor, boundsOf } from './audit-cursor.js';

// The table `audit_log` is part of each service's own schema (see its migrations): an entry commits with the effect that it
// tells of, or not at all. Why, and what keeps it append-only: docs/decisions/audit-log.md.

/** Whom an entry names. */
export interface Actor {
  readonly requestId: string;
  /** Absent: nobody who showed a credential. It was an operator's command, or carries on what one began. */
  readonly subject?: string;
  /** The kinds of credential that were shown. */
  readonly credentials: readonly string[];
}

export interface AuditEntry {
  /** Unique in its service. */
  readonly id: number;
  readonly at: string;
  /** `<service>.<name>` */
  readonly operation: string;
  readonly requestId: string;
  readonly subject?: string;
  readonly credentials: readonly string[];
  /** The id of what it was done to. */
  readonly target: string;
}

export interface AuditRequested extends PageRequested {
  readonly subject?: string;
  readonly operation?: string;
}

interface AuditRow extends Omit<AuditEntry, 'at' | 'subject'> {
  readonly at: Date;
  readonly subject: string | null;
}

const maxLimit = 1_000;

const append: Statement = {
  name: 'append-audit',
  text: 'INSERT INTO audit_log (operation, request_id, subject, credentials, target) VALUES ($1, $2, $3, $4, $5)',
};

export const actorOf = ({ requestId, principal }: Pick<RpcContext, 'requestId' | 'principal'>): Actor => ({
  requestId,
  ...(principal && { subject: principal.subject }),
  credentials: principal?.shown ?? [],
});

/** An operator, who has the server and shows no credential. */
export const operator = (requestId: string): Actor => ({ requestId, credentials: [] });

/**
 * Writes down who did what. Called beside the write that it belongs to, in its transaction; where an answer is saved for an
 * Idempotency-Key, inside `once`, since what is only repeated takes no effect. Nobody waits for it: an entry that cannot be
 * written fails the transaction.
 */
export function audit(
  tx: Transaction,
  { requestId, subject, credentials }: Actor,
  operation: { readonly pattern: string },
  target: string | number,
): void {
  tx.send(append, [operation.pattern, requestId, subject ?? null, credentials, String(target)]);
}

const appendAll: Statement = {
  name: 'append-audits',
  text: `INSERT INTO audit_log (operation, request_id, subject, credentials, target)
         SELECT $1, $2, $3, $4::text[], target FROM unnest($5::text[]) WITH ORDINALITY AS t (target, n) ORDER BY n`,
};

/** Like `audit`, for several things that one request did the same to. */
export function auditAll(
  tx: Transaction,
  { requestId, subject, credentials }: Actor,
  operation: { readonly pattern: string },
  targets: readonly (string | number)[],
): void {
  if (targets.length === 0) return;
  tx.send(appendAll, [operation.pattern, requestId, subject ?? null, credentials, targets.map(String)]);
}

/**
 * One service's entries, newest first.
 * @throws CodedError `invalid-cursor`
 */
export async function readAuditLog(
  database: Pick<Database, 'query'>,
  service: string,
  { subject, operation, limit = maxLimit, cursor }: AuditRequested,
): Promise<Page<AuditEntry>> {
  const { before, beforeId } = boundsOf(service, cursor);
  const rows = await database.query<AuditRow>(
    `SELECT id, at, operation, request_id AS "requestId", subject, credentials, target FROM audit_log
     WHERE (at, id) < ($1::timestamptz, $2::bigint)
       AND ($3::text IS NULL OR subject = $3) AND ($4::text IS NULL OR operation = $4)
     ORDER BY at DESC, id DESC LIMIT $5`,
    [before, beforeId, subject ?? null, operation ?? null, limit + 1],
  );
  const entries = rows.slice(0, limit).map(toEntry);
  const last = entries.at(-1);
  return new Page(entries, last && rows.length > limit ? auditCursor({ ...last, service }) : undefined);
}

const toEntry = ({ at, subject, ...row }: AuditRow): AuditEntry => ({
  ...row,
  at: at.toISOString(),
  ...(subject !== null && { subject }),
});
