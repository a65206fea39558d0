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

/** HTML pages and their files, and OAuth, which is described by its discovery documents. */
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
      description: 'Per service: `ready`, or why not.',
    },
  },
  required: ['ready', 'services'],
};

const shopDocs = {
  live: {
    tag: 'Shop',
    summary: 'Check whether this process answers',
    answer: { kind: 'json', schema: { type: 'object', properties: { live: { const: true } }, required: ['live'] }, example: { live: true } },
  },
  ready: {
    tag: 'Shop',
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
    tag: 'Shop',
    summary: 'Read the audit log',
    description:
      "Every change that required more than the right to one's own data: who did what, when, and in which request. Entries are " +
      'immutable and retained for at least 400 days.',
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
