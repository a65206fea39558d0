import type { Database, Statement, Transaction } from '../postgres/database.js';
import { Page } from '../rpc/answer.js';
import type { RpcContext } from '../rpc/context.js';
import type { OtherCredential } from '../rpc/principal.js';
import type { PageRequest } from '../paging.js';
import { auditCursor, boundsOf } from './audit-cursor.js';

// The table `audit_log` is part of each service's own schema (see its migrations), so an entry commits together with the change that
// it records. docs/decisions/audit-log.md explains why, and how the table is kept append-only.

/** The actor that an entry names. */
export interface Actor {
  readonly requestId: string;
  /** Undefined if no credential was presented: for an operator's command, or background work that continues one. */
  readonly subject?: string;
  /** The kinds of the actor's credentials that were presented. */
  readonly credentials: readonly string[];
  /** Credentials of other users that were presented too. */
  readonly otherCredentials?: readonly OtherCredential[];
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
  readonly otherCredentials?: readonly OtherCredential[];
  /** The id of the resource that the operation changed. */
  readonly target: string;
}

export interface AuditLogRequest extends PageRequest {
  readonly subject?: string;
  readonly operation?: string;
}

interface AuditRow extends Omit<AuditEntry, 'at' | 'subject' | 'otherCredentials'> {
  readonly at: Date;
  readonly subject: string | null;
  readonly otherCredentials: readonly OtherCredential[] | null;
}

const maxLimit = 1_000;

const append: Statement = {
  name: 'append-audit',
  text: 'INSERT INTO audit_log (operation, request_id, subject, credentials, other_credentials, target) VALUES ($1, $2, $3, $4, $5, $6)',
};

export const actorOf = ({ requestId, principalIfAny: principal }: Pick<RpcContext, 'requestId' | 'principalIfAny'>): Actor => ({
  requestId,
  ...(principal && { subject: principal.subject }),
  credentials: principal?.shown ?? [],
  ...(principal?.otherCredentials && { otherCredentials: principal.otherCredentials }),
});

/** Returns the actor of an operator's command, which runs on the server without a credential. */
export const operator = (requestId: string): Actor => ({ requestId, credentials: [] });

/**
 * Appends an audit entry. Call it in the transaction of the change; with an Idempotency-Key inside `runOnce`, since a repeated
 * request changes nothing. The caller does not wait: if the entry cannot be written, the transaction fails.
 */
export function audit(
  tx: Transaction,
  actor: Actor,
  operation: { readonly pattern: string },
  target: string | number,
): void {
  tx.send(append, [operation.pattern, ...columnsOf(actor), String(target)]);
}

const columnsOf = ({ requestId, subject, credentials, otherCredentials }: Actor): unknown[] => [
  requestId,
  subject ?? null,
  credentials,
  otherCredentials === undefined ? null : JSON.stringify(otherCredentials),
];

const appendAll: Statement = {
  name: 'append-audits',
  text: `INSERT INTO audit_log (operation, request_id, subject, credentials, other_credentials, target)
         SELECT $1, $2, $3, $4::text[], $5::jsonb, target FROM unnest($6::text[]) WITH ORDINALITY AS t (target, n) ORDER BY n`,
};

/** Like `audit`, for one operation that changed several resources. */
export function auditAll(
  tx: Transaction,
  actor: Actor,
  operation: { readonly pattern: string },
  targets: readonly (string | number)[],
): void {
  if (targets.length === 0) return;
  tx.send(appendAll, [operation.pattern, ...columnsOf(actor), targets.map(String)]);
}

/**
 * Returns a page of one service's entries, newest first.
 * @throws CodedError `invalid-cursor`
 */
export async function readAuditLog(
  database: Pick<Database, 'query'>,
  service: string,
  { subject, operation, limit = maxLimit, cursor }: AuditLogRequest,
): Promise<Page<AuditEntry>> {
  const { before, beforeId } = boundsOf(service, cursor);
  const rows = await database.query<AuditRow>(
    `SELECT id, at, operation, request_id AS "requestId", subject, credentials, other_credentials AS "otherCredentials", target FROM audit_log
     WHERE (at, id) < ($1::timestamptz, $2::bigint)
       AND ($3::text IS NULL OR subject = $3) AND ($4::text IS NULL OR operation = $4)
     ORDER BY at DESC, id DESC LIMIT $5`,
    [before, beforeId, subject ?? null, operation ?? null, limit + 1],
  );
  const entries = rows.slice(0, limit).map(toEntry);
  const last = entries.at(-1);
  return new Page(entries, last && rows.length > limit ? auditCursor({ ...last, service }) : undefined);
}

const toEntry = ({ at, subject, otherCredentials, ...row }: AuditRow): AuditEntry => ({
  ...row,
  at: at.toISOString(),
  ...(subject !== null && { subject }),
  ...(otherCredentials !== null && { otherCredentials }),
});
