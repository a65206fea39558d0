import { identity } from '@plant-shop/contracts/identity';
import { identityAnswers } from '@plant-shop/contracts/identity.answers';
import { apiResponse, type OperationDocs, forwarded } from './operation-docs.js';

export const usersDocs = {
  createUser: {
    tag: 'Users',
    summary: 'Register a user',
    description: 'Answers what was sent, but for the password, which no answer holds. Upper and lower case make no other name.',
    calls: [identity.createUser],
    answer: forwarded(identityAnswers.createUser),
  },
  createUsers: {
    tag: 'Users',
    summary: 'Register many users, all or none',
    description: 'Up to 500. The `pointer` of a refusal begins with the index of the user that it is about.',
    calls: [identity.createUsers],
    answer: forwarded(identityAnswers.createUsers),
  },
  login: {
    tag: 'Users',
    summary: 'Begin a session',
    description: 'The message is the session token: send it as `Authorization: Bearer <token>` or in the header session_token.',
    calls: [identity.login],
    query: ['username', 'password'],
    answer: apiResponse('EXAMPLE-SESSION-TOKEN-NOT-A-REAL-ONE-000000', {
      'X-Rate-Limit': { type: 'integer', description: 'Logins that this name may still fail in the present window.' },
      'X-Expires-After': { type: 'string', format: 'date-time', description: 'When the session ends.' },
      'Cache-Control': { type: 'string', const: 'no-store' },
    }),
  },
  logout: {
    tag: 'Users',
    summary: 'End the session that is shown',
    description: 'Without a live one there is nothing to end, and it answers the same.',
    calls: [identity.logout],
    answer: apiResponse('logged out'),
  },
  getUser: {
    tag: 'Users',
    summary: 'Read a user',
    description: 'E-mail address and telephone number only for the user in person and with `write:users`.',
    calls: [identity.getUser],
    answer: forwarded(identityAnswers.getUser),
  },
  listUsers: {
    tag: 'Users',
    summary: 'List users',
    description: 'In the order of their usernames, in which upper and lower case do not differ. Needs `write:users`.',
    calls: [identity.listUsers],
    query: ['q', 'role', 'limit', 'cursor'],
    answer: forwarded(identityAnswers.listUsers),
  },
  setUserRole: {
    tag: 'Users',
    summary: 'Give a user a role',
    description:
      'A customer manages the own orders and webhooks, staff everything but users, an admin everything. Sessions, API keys and tokens of the ' +
      'user stay valid, and within a second permit what the new role permits. Refused (409 `last-admin`) if no other admin would be left.',
    calls: [identity.setUserRole],
    answer: forwarded(identityAnswers.setUserRole),
  },
  updateUser: {
    tag: 'Users',
    summary: 'Change a user',
    description:
      "Changes the fields that are given. For the user in person and with `write:users`. A new password ends the user's " +
      'other sessions.',
    calls: [identity.updateUser],
    answer: forwarded(identityAnswers.updateUser),
  },
  deleteUser: {
    tag: 'Users',
    summary: 'Delete a user for ever',
    description:
      'For the user in person and with `write:users`. Refused while orders are open, which the problem names, and for the last admin. The ' +
      'message is the name.',
    calls: [identity.deleteUser],
    answer: apiResponse('ada'),
  },
  listSessions: {
    tag: 'Users',
    summary: 'List open sessions',
    description: 'For the user in person and with `write:users`. Never with their tokens.',
    calls: [identity.listSessions],
    answer: forwarded(identityAnswers.listSessions),
  },
  endSession: {
    tag: 'Users',
    summary: 'End a session',
    description: 'It is refused everywhere within a second. The message is its id.',
    calls: [identity.endSession],
    answer: apiResponse('0190b6a2-7f00-7a11-8b22-93c4d5e6f708'),
  },
  endSessions: {
    tag: 'Users',
    summary: 'Log out everywhere',
    description:
      "Ends all of the user's sessions, also the one that is shown, and what was granted to applications. API keys go on. " +
      'The message says how many sessions there were.',
    calls: [identity.endSessions],
    answer: apiResponse('3'),
  },
  createApiKey: {
    tag: 'Users',
    summary: 'Make an API key',
    description: 'The key itself is shown only in this answer. It may do no more than its user may.',
    calls: [identity.createApiKey],
    answer: forwarded(identityAnswers.createApiKey),
  },
  listApiKeys: {
    tag: 'Users',
    summary: 'List API keys',
    description: 'Without the keys themselves, which are kept as hashes only.',
    calls: [identity.listApiKeys],
    answer: forwarded(identityAnswers.listApiKeys),
  },
  revokeApiKey: {
    tag: 'Users',
    summary: 'Revoke an API key',
    description: 'It is refused everywhere within a second.',
    calls: [identity.revokeApiKey],
    answer: forwarded(identityAnswers.revokeApiKey),
  },
  rotateApiKey: {
    tag: 'Users',
    summary: 'Replace an API key',
    description:
      'Answers a successor with the same name and permissions; the old key goes on for a while beside it. The key itself is ' +
      'shown only in this answer.',
    calls: [identity.rotateApiKey],
    answer: forwarded(identityAnswers.rotateApiKey),
  },
} satisfies Record<string, OperationDocs>;
