import type { AuditEntry } from '@plant-shop/platform/audit/audit-log';
import { type Operation, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { described, id, instant, listOf, objectOf, optional, text } from './answers.js';
import type { ErrorCode } from './errors.js';
import { PageRequest, Text } from './fields.js';
import { Description } from './schema.js';

export type { AuditEntry };

/** One service's part of what staff did, newest first. A cursor is a place in the parts of all services together. */
export class ReadAudit extends PageRequest {
  /** Services know users by their UUID only: the gateway makes one of a name. */
  @IsOptional()
  @Text({ max: 64 })
  @Description('Who did it: a username, or the `subject` of an entry, also of a user who is gone. What is both means both.')
  subject?: string;

  @IsOptional()
  @Text({ max: 100 })
  @Description('What was done, as entries name it.')
  operation?: string;
}

/** Of each service that keeps a log. Callers have `write:users`: the gateway sees to it. */
export const readAuditOf = (service: string): Operation<ReadAudit, AuditEntry[]> =>
  operationsOf<ErrorCode>(service).read<AuditEntry[]>()('readAudit', ReadAudit, { errors: ['invalid-cursor'] });

/** As admins see it. */
export interface NamedAuditEntry extends AuditEntry {
  readonly username?: string;
}

export const auditAnswer = listOf(
  objectOf<NamedAuditEntry>('AuditEntry', 'Something that took effect, and needed more than being oneself.')({
    id: described(id, 'Unique among the entries of one service, which `operation` begins with.'),
    at: instant,
    operation: text(100),
    requestId: described(text(200), 'The `X-Request-Id` of the request; logs have it, too.'),
    subject: optional(described(text(64), 'Who did it; never given to another user. Absent: a command of an operator.')),
    username: optional(described(text(64), 'The name that the subject has now. Absent: the user is gone.')),
    credentials: listOf(described(text(20), 'The kinds of credential that were shown.')),
    target: described(text(200), 'The id of what it was done to.'),
  }),
  1_000,
);
