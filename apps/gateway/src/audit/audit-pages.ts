import { Injectable } from '@nestjs/common';
import type { AuditEntry, NamedAuditEntry } from '@plant-shop/contracts/audit';
import { catalog } from '@plant-shop/contracts/catalog';
import { uuidPattern } from '@plant-shop/contracts/fields';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import type { AuditLogRequest } from '@plant-shop/platform/audit/audit-log';
import { CodedError } from '@plant-shop/platform/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RpcForwarder } from '../http/rpc-forwarder.js';
import { mergeAudit } from './merge-audit.js';

/** The services with an audit log; the others have no staff operations. */
const logs = [catalog.readAudit, identity.readAudit, store.readAudit];
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
    const subjects = [...new Set(entries.flatMap((entry) => [entry, ...(entry.otherCredentials ?? [])]).flatMap(({ subject }) => subject ?? []))];
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

const withNames = (entry: AuditEntry, names: ReadonlyMap<string, string>): NamedAuditEntry => ({
  ...withName(entry, names),
  ...(entry.otherCredentials && { otherCredentials: entry.otherCredentials.map((one) => withName(one, names)) }),
});

function withName<T extends { readonly subject?: string }>(value: T, names: ReadonlyMap<string, string>): T & { readonly username?: string } {
  const username = value.subject === undefined ? undefined : names.get(value.subject);
  return username === undefined ? value : { ...value, username };
}
