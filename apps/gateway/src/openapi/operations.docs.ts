import { auditAnswer } from '@plant-shop/contracts/audit';
import { catalog } from '@plant-shop/contracts/catalog';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import type { OperationName } from '../access.js';
import { oauthDocs } from './oauth.docs.js';
import { type OperationDocs, forwarded } from './operation-docs.js';
import { plantsDocs } from './plants.docs.js';
import { storeDocs } from './store.docs.js';
import { usersDocs } from './users.docs.js';
import { webhooksDocs } from './webhooks.docs.js';

/** Pages for people, and OAuth, whose discovery documents describe it. */
export const undocumented = [
  'overview',
  'listProblems',
  'showProblem',
  'showDocs',
  'redirectToDocs',
  'getDocsFile',
  'showConsole',
  'getConsoleFile',
  'getConsoleSettings',
  'getOAuth',
  'postOAuth',
  'beginAuthorization',
] as const satisfies readonly OperationName[];
type Undocumented = (typeof undocumented)[number];

const report = {
  type: 'object',
  properties: {
    ready: { type: 'boolean' },
    services: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Per service: ready, or what keeps it.',
    },
  },
  required: ['ready', 'services'],
};

const shopDocs = {
  live: {
    tag: 'Shop',
    summary: 'Whether this process answers',
    answer: { kind: 'json', schema: { type: 'object', properties: { live: { const: true } }, required: ['live'] }, example: { live: true } },
  },
  ready: {
    tag: 'Shop',
    summary: 'Whether every service answers',
    description: '503 with the same report while one does not.',
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
    tag: 'Shop',
    summary: 'Read what staff did',
    description:
      'Everything that took effect and needed more than being oneself: who, what, when, and in which request. Entries are never ' +
      'changed, and kept for 400 days at least.',
    calls: [store.readAudit, catalog.readAudit, identity.readAudit, identity.resolveUsername],
    query: ['subject', 'operation', 'limit', 'cursor'],
    answer: forwarded(auditAnswer),
  },
  getOpenApi: {
    tag: 'Shop',
    summary: 'Read this document',
    answer: { kind: 'json', schema: { type: 'object', description: 'OpenAPI 3.1' }, hasEtag: true },
  },
} satisfies Record<string, OperationDocs>;

/** A new operation does not compile until it is described here or named above. */
export const operationDocs: Readonly<Record<Exclude<OperationName, Undocumented>, OperationDocs>> = {
  ...plantsDocs,
  ...storeDocs,
  ...usersDocs,
  ...oauthDocs,
  ...webhooksDocs,
  ...shopDocs,
};
