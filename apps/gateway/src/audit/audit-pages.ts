import { Injectable } from '@nestjs/common';
import type { NamedAuditEntry } from '@plant-shop/contracts/audit';
import { catalog } from '@plant-shop/contracts/catalog';
import { uuidPattern } from '@plant-shop/contracts/fields';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import type { AuditLogRequest } from '@plant-shop/platform/audit/audit-log';
import { CodedError } from '@plant-shop/platform/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Services } from '../http/services.js';
import { mergeAudit } from './merge-audit.js';

/** Those that keep a log; staff do nothing in the others. */
const logs = [catalog.readAudit, identity.readAudit, store.readAudit];
const maxLimit = 1_000;

/** One page out of those of all services. */
@Injectable()
export class AuditPages {
  constructor(private readonly services: Services) {}

  async send(request: FastifyRequest, reply: FastifyReply, asked: AuditLogRequest): Promise<void> {
    const wanted = asked.subject === undefined ? [undefined] : await this.subjectsOf(request, asked.subject);
    const parts = await Promise.all(
      wanted.flatMap((subject) => {
        const payload = { ...asked, ...(subject !== undefined && { subject }) };
        return logs.map(async (log) => ({ service: log.service, ...(await this.services.callPage(request, log, payload)) }));
      }),
    );
    const { entries, next } = mergeAudit(parts, asked.limit ?? maxLimit);
    if (next !== undefined) this.services.linkNext(request, reply, { ...asked }, next);
    const subjects = [...new Set(entries.flatMap(({ subject }) => subject ?? []))];
    const users = subjects.length === 0 ? [] : await this.services.call(request, identity.resolveUserIds, { userIds: subjects });
    const names = new Map(users.map(({ userId, username }) => [userId, username]));
    void reply.send(entries.map((entry): NamedAuditEntry => withName(entry, names)));
  }

  /**
   * Whom a text may mean: the user of that name, and whoever has or had it for an id. Names may look like ids, and one that
   * somebody took to be found in another's place must hide nothing: then the entries of both are there, each with its subject.
   */
  private async subjectsOf(request: FastifyRequest, text: string): Promise<readonly string[]> {
    const isId = uuidPattern.test(text);
    try {
      const { userId } = await this.services.call(request, identity.resolveUsername, { username: text });
      return isId ? [...new Set([text, userId])] : [userId];
    } catch (error) {
      if (isId && error instanceof CodedError && error.code === 'user-not-found') return [text];
      throw error;
    }
  }
}

function withName(entry: NamedAuditEntry, names: ReadonlyMap<string, string>): NamedAuditEntry {
  const username = entry.subject === undefined ? undefined : names.get(entry.subject);
  return username === undefined ? entry : { ...entry, username };
}
