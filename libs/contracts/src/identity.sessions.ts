import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { authenticated, limitedByAddress, openLimitedByUser } from './permissions.js';
import { type AnswerOf, boolean, described, instant, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { forClientsUnder, message, ownMessage } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { OneOf, Pattern, Text, Uuid } from './fields.js';
import { Description } from './schema.js';
import { Address, CurrentCode, CurrentPassword, sensitiveErrors, UserRequest } from './identity.user-request.js';

// Login and logout, and the open sessions of a user. Callers of the latter: the user, or anyone with `write:users`.

export const Digest = (): PropertyDecorator =>
  Pattern(/^[\w-]{43}$/, 'must be a SHA-256 in base64url', { pattern: '^[\\w-]{43}$' });

export class Login {
  @Text({ max: 1_000 })
  username: string;

  @Text({ max: 1_000 })
  password: string;

  /** The client's network address, for the limit per address. */
  @Text()
  address: string;

  /** The client's User-Agent, for the user's list of sessions. */
  @IsOptional()
  @Text()
  userAgent?: string;
}

/** Ends a session by the SHA-256 of its token. A session that does not exist is not an error. */
export class Logout {
  @Digest()
  digest: string;
}

/** What a login returns. */
export interface NewSession {
  /** Returned only once, stored only as a hash. */
  readonly token: string;
  readonly expiresAt: string;
  /** Failed logins still allowed for the name in the current window. */
  readonly attemptsLeft: number;
}

export class ListSessions extends UserRequest {
  /** SHA-256 of the caller's session token, if any: marks the `current` session. */
  @IsOptional()
  @Digest()
  ownSession?: string;
}

export class EndSession extends UserRequest {
  @Uuid()
  sessionId: string;

  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;

  @Address()
  address?: string;
}

/** Ends all sessions of the user, including the caller's own, and all grants to applications. */
export class EndSessions extends UserRequest {
  @IsOptional()
  @OneOf(['true'])
  @Description("Ends the user's API keys too: someone else knows the password or a credential.")
  compromised?: 'true';

  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;

  @Address()
  address?: string;
}

const openSessionAnswer = objectOf('Session')({
  id: uuid,
  createdAt: instant,
  expiresAt: instant,
  lastUsedAt: optional(described(instant, 'Accurate to a minute.')),
  userAgent: optional(described(text(200), 'The User-Agent of the login request.')),
  from: optional(described(text(19), 'The network of the login request: `203.0.113.0/24`, with IPv6 the /48.')),
  kind: described(
    oneOf(['token', 'application']),
    '`application`: a browser session, for granting access to applications.',
  ),
  current: described(boolean, 'Whether this is the session of the request.'),
});

export type OpenSession = AnswerOf<typeof openSessionAnswer>;

const { read, write } = operationsOf<ErrorCode>('identity');
const forClients = forClientsUnder('Users');

export const sessionOperations = {
  /** `login-failed`: wrong name or password. `second-factor-required`: only after the right password. Details of `too-many-logins`: `retryAfter` (seconds). */
  login: forClients(
    write<NewSession>()('login', Login, { errors: ['login-failed', 'too-many-logins', 'second-factor-required'] }),
    {
      route: 'GET /v3/user/login',
      access: openLimitedByUser,
      summary: 'Log in',
      description: 'The message is the session token. Send it as `Authorization: Bearer <token>` or in the header `session_token`. Accounts with a second factor log in on a page of the shop instead.',
      query: ['username', 'password'],
      unsafeGet: true,
      answer: ownMessage('EXAMPLE-SESSION-TOKEN-NOT-A-REAL-ONE-000000', {
        'X-Rate-Limit': { type: 'integer', description: 'Failed logins remaining for this name in the current window.' },
        'X-Expires-After': { type: 'string', format: 'date-time', description: 'When the session ends. It ends earlier if nobody uses it for a long time.' },
        'Cache-Control': { type: 'string', const: 'no-store' },
      }),
    },
  ),
  logout: forClients(
    write<{ ended: boolean }>()('logout', Logout),
    {
      route: 'GET /v3/user/logout',
      // Reads the token itself, since it answers 200 even without a live session. Identity looks up every token sent.
      access: limitedByAddress(1),
      summary: 'Log out',
      description: 'Ends the session of the token that is sent. Returns 200 even if the session has already ended.',
      revokes: true,
      unsafeGet: true,
      readsSession: true,
      answer: ownMessage('logged out'),
    },
  ),
  listSessions: forClients(
    read<OpenSession[]>()('listSessions', ListSessions, { errors: ['user-not-found', 'forbidden'] }),
    {
      route: 'GET /v3/user/:username/sessions',
      access: authenticated,
      summary: 'List open sessions',
      description: 'All of them, newest first; only for the user and for callers with `write:users`. Does not return the session tokens.',
      answer: listOf(openSessionAnswer, 1_000),
    },
  ),
  endSession: forClients(
    write<{ ended: string }>()('endSession', EndSession, {
      errors: ['user-not-found', 'forbidden', 'session-not-found', ...sensitiveErrors],
    }),
    {
      route: 'DELETE /v3/user/:username/sessions/:sessionId',
      access: authenticated,
      summary: 'End a session',
      description: "The session is refused everywhere within a second, and so are the tokens that it gave to public clients, such as the console in that browser. The message is its id. Another user's session needs a recent login or the password of the caller.",
      revokes: true,
      answer: message('ended', '0190b6a2-7f00-7a11-8b22-93c4d5e6f708'),
    },
  ),
  endSessions: forClients(
    write<{ ended: number }>()('endSessions', EndSessions, { errors: ['user-not-found', 'forbidden', ...sensitiveErrors] }),
    {
      route: 'DELETE /v3/user/:username/sessions',
      access: authenticated,
      summary: 'Log out everywhere',
      description:
        "Ends all sessions of the user, including the caller's, and all grants to applications. With `compromised=true` API keys too; " +
        'then set another password. The message is the number of sessions. For another user it needs a recent login or the password of the caller.',
      query: ['compromised'],
      revokes: true,
      answer: message('ended', '3'),
    },
  ),
};
