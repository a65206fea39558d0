import { identity } from '@plant-shop/contracts/identity';
import { identityAnswers } from '@plant-shop/contracts/identity.answers';
import { type OperationDocs, forwarded } from './operation-docs.js';

export const oauthDocs = {
  createOAuthClient: {
    tag: 'OAuth',
    summary: 'Register an OAuth client',
    description:
      'The client is an application that acts for its users (`authorization_code`, always with PKCE), or a program that acts for itself ' +
      '(`client_credentials`). The secret is returned only in this response.',
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
    description: "Ends all grants of users to the client. The client's tokens are refused everywhere within a second.",
    calls: [identity.deleteOAuthClient],
    answer: forwarded(identityAnswers.deleteOAuthClient),
  },
  rotateOAuthClientSecret: {
    tag: 'OAuth',
    summary: "Replace an OAuth client's secret",
    description:
      'The old secret is refused at once, and the access tokens issued for it within a second. Refresh tokens remain valid, ' +
      'with the new secret, which is returned only in this response.',
    calls: [identity.rotateOAuthClientSecret],
    answer: forwarded(identityAnswers.rotateOAuthClientSecret),
  },
} satisfies Record<string, OperationDocs>;
