import { type AnswersOf, id, instant, integer, listOf, meaning, objectOf, oneOf, optional, text, uuid } from './answers.js';
import type { ApiKey, CreatedApiKey, identity, User } from './identity.js';
import { type Permission, permissions } from './permissions.js';

const user = objectOf<User>('User', 'Everybody sees id, username, firstName, lastName and userStatus.')({
  id,
  username: text(64),
  firstName: optional(text(200)),
  lastName: optional(text(200)),
  email: optional(meaning(text(200), 'Only to the user in person and with write:users.')),
  phone: optional(meaning(text(200), 'Only to the user in person and with write:users.')),
  userStatus: optional(integer(-2_147_483_648, 2_147_483_647)),
});

const apiKeyMembers = {
  id: uuid,
  name: text(200),
  prefix: meaning(text(), 'The first characters of the key, to recognise it by.'),
  permissions: listOf(oneOf<Permission>(permissions)),
  createdAt: instant,
  expiresAt: optional(instant),
  lastUsedAt: optional(instant),
};
const apiKey = objectOf<ApiKey>('ApiKey')(apiKeyMembers);
const createdApiKey = objectOf<CreatedApiKey>('CreatedApiKey')({
  ...apiKeyMembers,
  key: meaning(text(), 'The key itself. It is shown only here and kept only as a hash.'),
});

export const identityAnswers = {
  createUser: user,
  createUsers: listOf(user, 500),
  getUser: user,
  updateUser: user,
  createApiKey: createdApiKey,
  listApiKeys: listOf(apiKey),
  revokeApiKey: apiKey,
  rotateApiKey: createdApiKey,
} satisfies AnswersOf<typeof identity>;
