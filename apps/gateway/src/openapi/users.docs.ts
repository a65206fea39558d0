import { identity } from '@plant-shop/contracts/identity';
import { identityAnswers } from '@plant-shop/contracts/identity.answers';
import { apiResponse, type OperationDocs, forwarded } from './operation-docs.js';

export const usersDocs = {
  createUser: {
    tag: 'Users',
    summary: 'Register a user',
    description: 'Returns the user as sent, without the password, which no response contains. Usernames are not case-sensitive.',
    calls: [identity.createUser],
    answer: forwarded(identityAnswers.createUser),
  },
  createUsers: {
    tag: 'Users',
    summary: 'Register several users, all or none',
    description: 'At most 500. The `pointer` of an error begins with the index of the user.',
    calls: [identity.createUsers],
    answer: forwarded(identityAnswers.createUsers),
  },
  login: {
    tag: 'Users',
    summary: 'Log in',
    description: 'The message is the session token. Send it as `Authorization: Bearer <token>` or in the header `session_token`.',
    calls: [identity.login],
    query: ['username', 'password'],
    answer: apiResponse('EXAMPLE-SESSION-TOKEN-NOT-A-REAL-ONE-000000', {
      'X-Rate-Limit': { type: 'integer', description: 'Failed logins remaining for this name in the current window.' },
      'X-Expires-After': { type: 'string', format: 'date-time', description: 'When the session ends.' },
      'Cache-Control': { type: 'string', const: 'no-store' },
    }),
  },
  logout: {
    tag: 'Users',
    summary: 'Log out',
    description: 'Ends the session of the token that is sent. Answers the same if it is not open.',
    calls: [identity.logout],
    answer: apiResponse('logged out'),
  },
  getUser: {
    tag: 'Users',
    summary: 'Read a user',
    description: 'E-mail address and telephone number are returned only to the user and with `write:users`.',
    calls: [identity.getUser],
    answer: forwarded(identityAnswers.getUser),
  },
  listUsers: {
    tag: 'Users',
    summary: 'List users',
    description: 'Sorted by username, regardless of case. Needs `write:users`.',
    calls: [identity.listUsers],
    query: ['q', 'role', 'limit', 'cursor'],
    answer: forwarded(identityAnswers.listUsers),
  },
  setUserRole: {
    tag: 'Users',
    summary: 'Set the role of a user',
    description:
      "A customer manages their own orders and webhooks; staff manage everything except users; an admin manages everything. The user's " +
      'sessions, API keys and tokens remain valid, and permit what the new role permits within a second. Refused (409 `last-admin`) if ' +
      'no admin would be left.',
    calls: [identity.setUserRole],
    answer: forwarded(identityAnswers.setUserRole),
  },
  updateUser: {
    tag: 'Users',
    summary: 'Change a user',
    description:
      "Changes the fields that are sent. Only for the user and with `write:users`. A new password ends the user's other sessions.",
    calls: [identity.updateUser],
    answer: forwarded(identityAnswers.updateUser),
  },
  deleteUser: {
    tag: 'Users',
    summary: 'Delete a user permanently',
    description:
      'Only for the user and with `write:users`. Refused while the user has open orders, which the problem lists, and for the last ' +
      'admin. The message is the username.',
    calls: [identity.deleteUser],
    answer: apiResponse('ada'),
  },
  listSessions: {
    tag: 'Users',
    summary: 'List open sessions',
    description: 'Only for the user and with `write:users`. Does not return the session tokens.',
    calls: [identity.listSessions],
    answer: forwarded(identityAnswers.listSessions),
  },
  endSession: {
    tag: 'Users',
    summary: 'End a session',
    description: 'The session is refused everywhere within a second. The message is its id.',
    calls: [identity.endSession],
    answer: apiResponse('0190b6a2-7f00-7a11-8b22-93c4d5e6f708'),
  },
  endSessions: {
    tag: 'Users',
    summary: 'Log out everywhere',
    description:
      "Ends all sessions of the user, including the caller's, and all grants to applications. API keys remain valid. " +
      'The message is the number of sessions.',
    calls: [identity.endSessions],
    answer: apiResponse('3'),
  },
  createApiKey: {
    tag: 'Users',
    summary: 'Create an API key',
    description: 'The key itself is returned only in this response. It permits no more than its user is permitted.',
    calls: [identity.createApiKey],
    answer: forwarded(identityAnswers.createApiKey),
  },
  listApiKeys: {
    tag: 'Users',
    summary: 'List API keys',
    description: 'Does not return the keys themselves, which are stored only as hashes.',
    calls: [identity.listApiKeys],
    answer: forwarded(identityAnswers.listApiKeys),
  },
  revokeApiKey: {
    tag: 'Users',
    summary: 'Revoke an API key',
    description: 'The key is refused everywhere within a second.',
    calls: [identity.revokeApiKey],
    answer: forwarded(identityAnswers.revokeApiKey),
  },
  rotateApiKey: {
    tag: 'Users',
    summary: 'Replace an API key',
    description:
      'Returns a new key with the same name and permissions. The old key remains valid for a grace period. The new key itself is ' +
      'returned only in this response.',
    calls: [identity.rotateApiKey],
    answer: forwarded(identityAnswers.rotateApiKey),
  },
} satisfies Record<string, OperationDocs>;
