import { Injectable } from '@nestjs/common';
import type { NamedAuditEntry } from '@plant-shop/contracts/audit';
import { catalog } from '@plant-shop/contracts/catalog';
import { uuidForm } from '@plant-shop/contracts/fields';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import type { AuditRequested } from '@plant-shop/platform/audit/audit-log';
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

  async send(request: FastifyRequest, reply: FastifyReply, asked: AuditRequested): Promise<void> {
    const payload = { ...asked, ...(asked.subject !== undefined && { subject: await this.subjectOf(request, asked.subject) }) };
    const parts = await Promise.all(
      logs.map(async (log) => ({ service: log.service, ...(await this.services.callPage(request, log, payload)) })),
    );
    const { entries, next } = mergeAudit(parts, asked.limit ?? maxLimit);
    if (next !== undefined) this.services.linkNext(request, reply, { ...asked }, next);
    const subjects = [...new Set(entries.flatMap(({ subject }) => subject ?? []))];
    const users = subjects.length === 0 ? [] : await this.services.call(request, identity.resolveUserIds, { userIds: subjects });
    const names = new Map(users.map(({ userId, username }) => [userId, username]));
    void reply.send(entries.map((entry): NamedAuditEntry => withName(entry, names)));
  }

  private async subjectOf(request: FastifyRequest, subject: string): Promise<string> {
    if (uuidForm.test(subject)) return subject;
    return (await this.services.call(request, identity.resolveUsername, { username: subject })).userId;
  }
}

function withName(entry: NamedAuditEntry, names: ReadonlyMap<string, string>): NamedAuditEntry {
  const username = entry.subject === undefined ? undefined : names.get(entry.subject);
  return username === undefined ? entry : { ...entry, username };
}
