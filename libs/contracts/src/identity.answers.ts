import { type AnswersOf, boolean, described, id, instant, integer, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import type { identity, User } from './identity.js';
import type { ApiKey, CreatedApiKey } from './identity.api-keys.js';
import { type CreatedOAuthClient, type GrantType, grantTypes, type OAuthClient } from './identity.oauth.js';
import type { OpenSession } from './identity.sessions.js';
import { type Permission, permissions, type Role, roles } from './permissions.js';

const user = objectOf<User>('User', 'Visible to everyone: id, username, firstName, lastName and userStatus.')({
  id,
  username: text(64),
  firstName: optional(text(200)),
  lastName: optional(text(200)),
  email: optional(described(text(200), 'Visible to the user and with write:users.')),
  phone: optional(described(text(200), 'Visible to the user and with write:users.')),
  userStatus: optional(integer(-2_147_483_648, 2_147_483_647)),
  role: optional(described(oneOf<Role>(roles), 'Visible with write:users.')),
});

const apiKeyMembers = {
  id: uuid,
  name: text(200),
  prefix: described(text(), 'The first characters of the key, to recognise it.'),
  permissions: listOf(oneOf<Permission>(permissions)),
  createdAt: instant,
  expiresAt: optional(instant),
  lastUsedAt: optional(instant),
};
const apiKey = objectOf<ApiKey>('ApiKey')(apiKeyMembers);
const createdApiKey = objectOf<CreatedApiKey>('CreatedApiKey')({
  ...apiKeyMembers,
  key: described(text(), 'The key itself. It is returned only once and stored only as a hash.'),
});

const openSession = objectOf<OpenSession>('Session')({
  id: uuid,
  createdAt: instant,
  expiresAt: instant,
  lastUsedAt: optional(described(instant, 'Accurate to a minute.')),
  userAgent: optional(described(text(200), 'The User-Agent of the login request.')),
  kind: described(
    oneOf<OpenSession['kind']>(['token', 'application']),
    '`application`: a browser session, for granting access to applications.',
  ),
  current: described(boolean, 'Whether this is the session of the request.'),
});

const oauthClientMembers = {
  clientId: text(200),
  name: text(200),
  redirectUris: listOf(text(2_000)),
  grantTypes: listOf(oneOf<GrantType>(grantTypes)),
  scopes: listOf(oneOf<Permission>(permissions)),
  owner: optional(text(64)),
  public: boolean,
  createdAt: instant,
};
const oauthClient = objectOf<OAuthClient>('OAuthClient')(oauthClientMembers);
const createdOAuthClient = objectOf<CreatedOAuthClient>('CreatedOAuthClient')({
  ...oauthClientMembers,
  secret: optional(described(text(), 'The secret itself. It is returned only once and stored only as a hash.')),
});

export const identityAnswers = {
  createUser: user,
  createUsers: listOf(user, 500),
  getUser: user,
  listUsers: listOf(user, 1_000),
  updateUser: user,
  setUserRole: user,
  createApiKey: createdApiKey,
  listApiKeys: listOf(apiKey),
  revokeApiKey: apiKey,
  rotateApiKey: createdApiKey,
  listSessions: listOf(openSession),
  createOAuthClient: createdOAuthClient,
  listOAuthClients: listOf(oauthClient),
  getOAuthClient: oauthClient,
  deleteOAuthClient: oauthClient,
  rotateOAuthClientSecret: createdOAuthClient,
} satisfies AnswersOf<typeof identity>;
