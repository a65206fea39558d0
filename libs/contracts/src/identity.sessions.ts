import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { authenticated } from './permissions.js';
import { type AnswerOf, boolean, described, instant, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { forClientsUnder, message } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Pattern, Uuid } from './fields.js';
import { UserRequest } from './identity.user-request.js';

// Open sessions of a user. Callers: the user, or anyone with `write:users`.

export const Digest = (): PropertyDecorator =>
  Pattern(/^[\w-]{43}$/, 'must be a SHA-256 in base64url', { pattern: '^[\\w-]{43}$' });

export class ListSessions extends UserRequest {
  /** SHA-256 of the caller's session token, if any: marks the `current` session. */
  @IsOptional()
  @Digest()
  ownSession?: string;
}

export class EndSession extends UserRequest {
  @Uuid()
  sessionId: string;
}

/** Ends all sessions of the user, including the caller's own, and all grants to applications. */
export class EndSessions extends UserRequest {}

const openSessionAnswer = objectOf('Session')({
  id: uuid,
  createdAt: instant,
  expiresAt: instant,
  lastUsedAt: optional(described(instant, 'Accurate to a minute.')),
  userAgent: optional(described(text(200), 'The User-Agent of the login request.')),
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
  listSessions: forClients(
    read<OpenSession[]>()('listSessions', ListSessions, { errors: ['user-not-found', 'forbidden'] }),
    {
      route: 'GET /v3/user/:username/sessions',
      access: authenticated,
      summary: 'List open sessions',
      description: 'Only for the user and for callers with `write:users`. Does not return the session tokens.',
      answer: listOf(openSessionAnswer),
    },
  ),
  endSession: forClients(
    write<{ ended: string }>()('endSession', EndSession, {
      errors: ['user-not-found', 'forbidden', 'session-not-found'],
    }),
    {
      route: 'DELETE /v3/user/:username/sessions/:sessionId',
      access: authenticated,
      summary: 'End a session',
      description: 'The session is refused everywhere within a second. The message is its id.',
      revokes: true,
      answer: message('ended', '0190b6a2-7f00-7a11-8b22-93c4d5e6f708'),
    },
  ),
  endSessions: forClients(
    write<{ ended: number }>()('endSessions', EndSessions, { errors: ['user-not-found', 'forbidden'] }),
    {
      route: 'DELETE /v3/user/:username/sessions',
      access: authenticated,
      summary: 'Log out everywhere',
      description:
        "Ends all sessions of the user, including the caller's, and all grants to applications. API keys remain valid. " +
        'The message is the number of sessions.',
      revokes: true,
      answer: message('ended', '3'),
    },
  ),
};
