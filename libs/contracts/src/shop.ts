import { open, permission } from './permissions.js';
import { auditAnswer } from './audit.js';
import { catalog } from './catalog.js';
import type { ClientOperation } from './client-operation.js';
import { identity } from './identity.js';
import { notifications } from './notifications.js';
import { store } from './store.js';

// Operations of the shop as a whole, which no single service answers. The gateway has a handler for each.

const report = {
  type: 'object',
  properties: {
    ready: { type: 'boolean' },
    services: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Per service: `ready`, or why it is not.',
    },
  },
  required: ['ready', 'services'],
};

const ofTheShop = { tag: 'Shop', method: 'GET', calls: [], conditional: false } as const;

export const shop = {
  live: {
    ...ofTheShop,
    name: 'live',
    url: '/livez',
    access: open,
    summary: 'Check whether this process answers',
    answer: { kind: 'json', schema: { type: 'object', properties: { live: { const: true } }, required: ['live'] }, example: { live: true } },
  },
  ready: {
    ...ofTheShop,
    name: 'ready',
    url: '/readyz',
    access: open,
    summary: 'Check whether every service is ready',
    description: 'Answers 503 with the same report while a service is not ready.',
    answer: {
      kind: 'json',
      schema: report,
      example: {
        ready: true,
        services: { gateway: 'ready', catalog: 'ready', store: 'ready', identity: 'ready', notifications: 'ready' },
      },
      alsoStatus: 503,
    },
  },
  listAudit: {
    ...ofTheShop,
    name: 'listAudit',
    url: '/v3/audit',
    access: permission('write:users'),
    summary: 'Read the audit log',
    description:
      "Every change that required more than the right to one's own data: who did what, when, and in which request, newest first. Entries are " +
      'immutable and retained for at least 400 days.',
    calls: [store.readAudit, catalog.readAudit, identity.readAudit, notifications.readAudit, identity.resolveUsername],
    query: ['subject', 'operation', 'from', 'to', 'limit', 'cursor'],
    answer: { kind: 'forwarded', schema: auditAnswer },
  },
  getOpenApi: {
    ...ofTheShop,
    name: 'getOpenApi',
    url: '/v3/openapi.json',
    access: open,
    summary: 'Read this document',
    compressed: true,
    answer: { kind: 'json', schema: { type: 'object', description: 'OpenAPI 3.1' }, hasEtag: true },
  },
} as const satisfies Record<string, ClientOperation>;
