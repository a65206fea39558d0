import { identity } from '@plant-shop/contracts/identity';
import { identityAnswers } from '@plant-shop/contracts/identity.answers';
import { type OperationDocs, forwarded } from './operation-docs.js';

export const oauthDocs = {
  createOAuthClient: {
    tag: 'OAuth',
    summary: 'Register an OAuth client',
    description:
      'An application that users log in to (`authorization_code`, always with PKCE), or a program that gets tokens for itself ' +
      '(`client_credentials`). The secret is shown only in this answer.',
    calls: [identity.createOAuthClient],
    answer: forwarded(identityAnswers.createOAuthClient),
  },
  listOAuthClients: {
    tag: 'OAuth',
    summary: 'List OAuth clients',
    calls: [identity.listOAuthClients],
    answer: forwarded(identityAnswers.listOAuthClients),
  },
  getOAuthClient: {
    tag: 'OAuth',
    summary: 'Read an OAuth client',
    calls: [identity.getOAuthClient],
    answer: forwarded(identityAnswers.getOAuthClient),
  },
  deleteOAuthClient: {
    tag: 'OAuth',
    summary: 'Delete an OAuth client',
    description: 'What users granted to it ends, and its tokens are refused everywhere within a second.',
    calls: [identity.deleteOAuthClient],
    answer: forwarded(identityAnswers.deleteOAuthClient),
  },
  rotateOAuthClientSecret: {
    tag: 'OAuth',
    summary: "Replace an OAuth client's secret",
    description:
      'The old secret is refused at once, and within a second the access tokens that were issued for it. Refresh tokens go on, ' +
      'with the new secret, which is shown only in this answer.',
    calls: [identity.rotateOAuthClientSecret],
    answer: forwarded(identityAnswers.rotateOAuthClientSecret),
  },
} satisfies Record<string, OperationDocs>;
