import { Controller, type Type } from '@nestjs/common';
import { CodedError } from '../errors.js';
import { fitToPage, type PageRequest } from './paging.js';
import { Database, type Statement, type Transaction } from '../postgres/database.js';
import { RowsParameter } from '../postgres/rows.js';
import { Page } from '../rpc/answer.js';
import { Answers } from '../rpc/answers.decorator.js';
import type { OtherCredential, RpcContext } from '../rpc/context.js';
import type { Operation } from '../rpc/operation.js';

/**
 * A position in the merged audit logs of all services. Entries are ordered by time, newest first; within a millisecond by service, then
 * by id, highest first. Every service derives the bounds of its own page from it, so that one cursor pages through all logs.
 */
export interface AuditPosition {
  readonly at: string;
  readonly service: string;
  readonly id: number;
}

/** The entries after a position are those with a lower (time, id). */
interface Bounds {
  readonly before: string;
  readonly beforeId: number;
}

const fromNewest: Bounds = { before: 'infinity', beforeId: Number.MAX_SAFE_INTEGER };

export const auditCursor = ({ at, service, id }: AuditPosition): string =>
  Buffer.from(JSON.stringify([at, service, id])).toString('base64url');

/** Returns a negative number if `one` comes before `other`. */
export function compareAuditPositions(one: AuditPosition, other: AuditPosition): number {
  if (one.at !== other.at) return one.at > other.at ? -1 : 1;
  if (one.service !== other.service) return one.service < other.service ? -1 : 1;
  return other.id - one.id;
}

/**
 * Returns the bounds of a service's next page.
 * @throws CodedError `invalid-cursor`
 */
export function boundsOf(service: string, cursor: string | undefined): Bounds {
  if (cursor === undefined) return fromNewest;
  const position = positionIn(cursor);
  if (service === position.service) return { before: position.at, beforeId: position.id };
  // Within the cursor's millisecond, the entries of earlier services were all read, and those of later services are all still to
  // come. Ids start at 1.
  return { before: position.at, beforeId: service < position.service ? 0 : Number.MAX_SAFE_INTEGER };
}

function positionIn(cursor: string): AuditPosition {
  const parsed = parse(Buffer.from(cursor, 'base64url').toString());
  const [at, service, id] = Array.isArray(parsed) && parsed.length === 3 ? (parsed as unknown[]) : [];
  if (typeof at !== 'string' || typeof service !== 'string' || typeof id !== 'number' || !Number.isSafeInteger(id) || !isInstant(at)) {
    throw new CodedError('invalid-cursor', 'The cursor does not belong to this list. Start again without a cursor.');
  }
  return { at, service, id };
}

const isInstant = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The table `audit_log` is part of each service's own schema (see its migrations), so an entry commits together with the change that
// it records. docs/decisions/audit-log.md explains why, and how the table is kept append-only.

/** A credential, by what finds and revokes it; never its value. */
export interface UsedCredential {
  readonly kind: string;
  /** Absent in calls of an older release. */
  readonly id?: string;
}

/** The actor that an entry names. */
export interface Actor {
  readonly requestId: string;
  /** Undefined if no credential was presented: for an operator's command, or background work that continues one. */
  readonly subject?: string;
  /** The actor's credentials that were presented. */
  readonly credentials: readonly UsedCredential[];
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
  readonly credentials: readonly UsedCredential[];
  readonly otherCredentials?: readonly OtherCredential[];
  /** The id of the resource that the operation changed. */
  readonly target: string;
}

export interface AuditLogRequest extends PageRequest {
  readonly subject?: string;
  readonly operation?: string;
  /** Instants: from the first on, and before the second. */
  readonly from?: string;
  readonly to?: string;
}

interface AuditRow extends Omit<AuditEntry, 'at' | 'subject' | 'credentials' | 'otherCredentials'> {
  readonly at: Date;
  /** `<kind>:<id>` */
  readonly credentials: readonly string[];
  readonly subject: string | null;
  readonly otherCredentials: readonly OtherCredential[] | null;
}

const maxLimit = 1_000;

export const actorOf = ({ requestId, principalIfAny: principal }: Pick<RpcContext, 'requestId' | 'principalIfAny'>): Actor => ({
  requestId,
  ...(principal && { subject: principal.subject }),
  credentials: principal?.shown.map((kind, n) => usedCredential(kind, principal.shownIds?.[n])) ?? [],
  ...(principal?.otherCredentials && { otherCredentials: principal.otherCredentials }),
});

const usedCredential = (kind = '', id?: string): UsedCredential => ({ kind, ...(id !== undefined && { id }) });

/** Returns the actor of an operator's command, which runs on the server without a credential. */
export const operator = (requestId: string): Actor => ({ requestId, credentials: [] });

/** What an entry records: an operation by an actor, and the id of the resource that it changed. */
export interface AuditedChange {
  readonly actor: Actor;
  readonly operation: { readonly pattern: string };
  readonly target: string | number;
}

const appended = new RowsParameter<AuditedChange>(
  ['operation', 'text', ({ operation }) => operation.pattern],
  ['request_id', 'text', ({ actor }) => actor.requestId],
  ['subject', 'text', ({ actor }) => actor.subject],
  // Joined, since an array cannot hold arrays of different lengths. Neither kinds nor ids contain spaces.
  ['credentials', 'text', ({ actor }) => actor.credentials.map(({ kind, id }) => (id === undefined ? kind : `${kind}:${id}`)).join(' ')],
  ['other_credentials', 'jsonb', ({ actor }) => actor.otherCredentials && JSON.stringify(actor.otherCredentials)],
  ['target', 'text', ({ target }) => String(target)],
);

const append: Statement = {
  name: 'append-audit',
  text: `INSERT INTO audit_log (${appended.names})
         SELECT operation, request_id, subject, string_to_array(credentials, ' '), other_credentials, target FROM ${appended.numberedFrom()} ORDER BY n`,
};

/**
 * Appends an audit entry. Call it in the transaction of the change; with an Idempotency-Key inside `runOnce`, since a repeated
 * request changes nothing. The caller does not wait: if the entry cannot be written, the transaction fails.
 */
export function audit(tx: Transaction, actor: Actor, operation: AuditedChange['operation'], target: string | number): void {
  auditAll(tx, [{ actor, operation, target }]);
}

/** Like `audit`, for several changes: one statement. */
export function auditAll(tx: Transaction, changes: readonly AuditedChange[]): void {
  if (changes.length > 0) tx.send(append, appended.values(changes));
}

/**
 * Returns a page of one service's entries, newest first.
 * @throws CodedError `invalid-cursor`
 */
export async function readAuditLog(
  database: Pick<Database, 'query'>,
  service: string,
  { subject, operation, from, to, limit = maxLimit, cursor }: AuditLogRequest,
): Promise<Page<AuditEntry>> {
  const { before, beforeId } = boundsOf(service, cursor);
  const rows = await database.query<AuditRow>(
    `SELECT id, at, operation, request_id AS "requestId", subject, credentials, other_credentials AS "otherCredentials", target FROM audit_log
     WHERE (at, id) < ($1::timestamptz, $2::bigint)
       AND at >= $6::timestamptz AND at < $7::timestamptz
       AND ($3::text IS NULL OR subject = $3) AND ($4::text IS NULL OR operation = $4)
     ORDER BY at DESC, id DESC LIMIT $5`,
    [before, beforeId, subject ?? null, operation ?? null, limit + 1, from ?? '-infinity', to ?? 'infinity'],
  );
  const entries = fitToPage(rows, limit, toEntry);
  const last = entries.at(-1);
  return new Page(entries, last && rows.length > entries.length ? auditCursor({ ...last, service }) : undefined);
}

/** Returns the Nest controller that answers a service's operation with its part of the audit log. */
export function auditControllerOf(operation: Operation<AuditLogRequest, AuditEntry[]>): Type {
  @Controller()
  class AuditController {
    constructor(private readonly database: Database) {}

    @Answers(operation)
    readAudit(request: AuditLogRequest): Promise<Page<AuditEntry>> {
      return readAuditLog(this.database, operation.service, request);
    }
  }
  return AuditController;
}

const toEntry = ({ at, subject, credentials, otherCredentials, ...row }: AuditRow): AuditEntry => ({
  ...row,
  credentials: credentials.map((one) => usedCredential(...one.split(':', 2))),
  at: at.toISOString(),
  ...(subject !== null && { subject }),
  ...(otherCredentials !== null && { otherCredentials }),
});
