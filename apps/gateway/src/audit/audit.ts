import { Controller, Injectable, Req, Res } from '@nestjs/common';
import type { AuditEntry, NamedAuditEntry } from '@plant-shop/contracts/audit';
import { catalog } from '@plant-shop/contracts/catalog';
import { uuidPattern } from '@plant-shop/contracts/fields';
import { identity } from '@plant-shop/contracts/identity';
import { notifications } from '@plant-shop/contracts/notifications';
import { shop } from '@plant-shop/contracts/shop';
import { store } from '@plant-shop/contracts/store';
import { auditCursor, type AuditLogRequest, compareAuditPositions } from '@plant-shop/platform/patterns/audit-log';
import { CodedError } from '@plant-shop/platform/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, queryText } from '../http/input.js';
import { Serves } from '../http/route.js';
import { RpcForwarder } from '../http/rpc-forwarder.js';

/** One service's share of a page: at most `limit` entries, fewer if they are large. */
export interface AuditPart {
  readonly service: string;
  readonly entries: readonly AuditEntry[];
  /** The service's cursor, if it has more entries. */
  readonly next: string | undefined;
}

/**
 * Returns the newest entries of all parts, at most `limit`, and the cursor of the next page if there is one. The page ends where a part
 * that has more entries ends, since those may be newer than what other parts have.
 */
export function mergeAudit(
  parts: readonly AuditPart[],
  limit: number,
): { readonly entries: readonly AuditEntry[]; readonly next: string | undefined } {
  const all = parts.flatMap(({ service, entries }) => entries.map((entry) => ({ entry, position: { ...entry, service } })));
  all.sort((one, other) => compareAuditPositions(one.position, other.position));
  const ends = parts.flatMap(({ service, entries, next }) => {
    const last = entries.at(-1);
    return next === undefined || !last ? [] : [{ ...last, service }];
  });
  const page = all.filter(({ position }) => ends.every((end) => compareAuditPositions(position, end) <= 0)).slice(0, limit);
  const last = page.at(-1);
  const hasMore = all.length > page.length || ends.length > 0;
  return { entries: page.map(({ entry }) => entry), next: last && hasMore ? auditCursor(last.position) : undefined };
}

/** The services with staff operations. */
const logs = [catalog.readAudit, identity.readAudit, notifications.readAudit, store.readAudit];
const maxLimit = 1_000;

/** Merges the audit logs of all services into one list. */
@Injectable()
export class AuditPages {
  constructor(private readonly forwarder: RpcForwarder) {}

  async send(request: FastifyRequest, reply: FastifyReply, query: AuditLogRequest): Promise<void> {
    const wanted = query.subject === undefined ? [undefined] : await this.subjectsOf(request, query.subject);
    const parts = await Promise.all(
      wanted.flatMap((subject) => {
        const payload = { ...query, ...(subject !== undefined && { subject }) };
        return logs.map(async (log) => ({ service: log.service, ...(await this.forwarder.callPage(request, log, payload)) }));
      }),
    );
    const { entries, next } = mergeAudit(parts, query.limit ?? maxLimit);
    if (next !== undefined) this.forwarder.addNextLink(request, reply, { ...query }, next);
    const subjects = [...new Set(entries.flatMap((entry) => [entry.subject, userIn(entry), ...(entry.otherCredentials ?? []).map(({ subject }) => subject)]).filter((id) => id !== undefined))];
    const users = subjects.length === 0 ? [] : await this.forwarder.call(request, identity.resolveUserIds, { userIds: subjects });
    const names = new Map(users.map(({ userId, username }) => [userId, username]));
    void reply.send(entries.map((entry) => withNames(entry, names)));
  }

  /**
   * Resolves a username or user id to user ids. A text in the form of an id may be both: a user could choose another user's
   * id as a name to hide that user's entries, so the entries of both are returned, each with its subject.
   */
  private async subjectsOf(request: FastifyRequest, text: string): Promise<readonly string[]> {
    const isId = uuidPattern.test(text);
    try {
      const { userId } = await this.forwarder.call(request, identity.resolveUsername, { username: text });
      return isId ? [...new Set([text, userId])] : [userId];
    } catch (error) {
      if (isId && error instanceof CodedError && error.code === 'user-not-found') return [text];
      throw error;
    }
  }
}

/** Returns the user whose id begins the target of an entry, if it does. */
function userIn({ operation, target }: AuditEntry): string | undefined {
  const id = target.slice(0, 36);
  return operation.startsWith(`${identity.readAudit.service}.`) && uuidPattern.test(id) ? id : undefined;
}

function withNames(entry: AuditEntry, names: ReadonlyMap<string, string>): NamedAuditEntry {
  const targetUsername = names.get(userIn(entry) ?? '');
  return { ...withActors(entry, names), ...(targetUsername !== undefined && { targetUsername }) };
}

const withActors = (entry: AuditEntry, names: ReadonlyMap<string, string>): NamedAuditEntry => ({
  ...withName(entry, names),
  ...(entry.otherCredentials && { otherCredentials: entry.otherCredentials.map((one) => withName(one, names)) }),
});

function withName<T extends { readonly subject?: string }>(value: T, names: ReadonlyMap<string, string>): T & { readonly username?: string } {
  const username = value.subject === undefined ? undefined : names.get(value.subject);
  return username === undefined ? value : { ...value, username };
}

@Controller()
export class AuditController {
  constructor(private readonly pages: AuditPages) {}

  @Serves(shop.listAudit)
  listAudit(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const subject = queryText(request, 'subject');
    const operation = queryText(request, 'operation');
    const [from, to] = [queryText(request, 'from'), queryText(request, 'to')];
    const filter = { ...(operation !== undefined && { operation }), ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    const query = { ...(subject !== undefined && { subject }), ...filter, ...pageOf(request) };
    return this.pages.send(request, reply, query);
  }
}
