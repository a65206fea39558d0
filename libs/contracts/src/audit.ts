import type { AuditEntry } from '@plant-shop/platform/patterns/audit-log';
import { type Operation, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { type AnswerOf, described, id, instant, listOf, objectOf, optional, text } from './answers.js';
import type { ErrorCode } from './errors.js';
import { DateTime, PageRequest, Text } from './fields.js';
import { Description } from './schema.js';

export type { AuditEntry };

/** Reads one service's part of the audit log, newest first. A cursor is a position in the merged log of all services. */
export class ReadAudit extends PageRequest {
  /** A UUID: the gateway resolves usernames. */
  @IsOptional()
  @Text({ max: 64 })
  @Description(
    "The acting user: a username, or the `subject` of an entry, even of a deleted user. If it is one user's name and another user's id, " +
      'entries of both are returned.',
  )
  subject?: string;

  @IsOptional()
  @Text({ max: 100 })
  @Description('The operation, as in `operation` of an entry.')
  operation?: string;

  @IsOptional()
  @DateTime()
  @Description('Only entries from this time on.')
  from?: string;

  @IsOptional()
  @DateTime()
  @Description('Only entries before this time.')
  to?: string;
}

/** Returns the operation of a service that has an audit log. The gateway requires `write:users`. */
export const readAuditOf = (service: string): Operation<ReadAudit, AuditEntry[]> =>
  operationsOf<ErrorCode>(service).read<AuditEntry[]>()('readAudit', ReadAudit, { errors: ['invalid-cursor'] });

const otherCredential = objectOf('OtherCredential', 'A valid credential of another user. It permitted nothing.')({
  kind: text(20),
  id: described(text(200), 'The id of the API key or session; for an access token, of its OAuth client.'),
  subject: described(text(64), 'Id of its user.'),
  username: optional(described(text(64), 'The current name of its user. Absent: the user was deleted.')),
});

const usedCredential = objectOf('UsedCredential')({
  kind: text(20),
  id: optional(described(text(200), 'The id of the API key or session, by which it can be revoked; for an access token, of its OAuth client.')),
});

const auditEntry = objectOf('AuditEntry', 'An operation that took effect and that ordinary users may not perform.')({
  id: described(id, 'Unique within a service, the first part of `operation`.'),
  at: instant,
  operation: text(100),
  requestId: described(text(200), 'The `X-Request-Id` of the request, which the logs also contain.'),
  subject: optional(described(text(64), 'Id of the acting user, never reused. Absent: an operator\'s command.')),
  username: optional(described(text(64), 'The current name of the acting user. Absent: the user was deleted.')),
  credentials: described(listOf(usedCredential), 'Credentials of the acting user that the request carried.'),
  otherCredentials: optional(described(listOf(otherCredential), 'Credentials of other users that the request carried too.')),
  target: described(text(200), 'The id of the affected resource. With a role or stock: `<id>: <before> to <after>`.'),
  targetUsername: optional(described(text(64), 'The current name of the user whose id begins `target`, if there is one.')),
});

/** An entry as admins see it, with the names of users. */
export type NamedAuditEntry = AnswerOf<typeof auditEntry>;

export const auditAnswer = listOf(auditEntry, 1_000);
