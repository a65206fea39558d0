import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { type AnswerOf, boolean, described, instant, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { forClientsUnder } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Uuid } from './fields.js';
import { Address, CurrentCode, CurrentPassword, sensitiveErrors, UserRequest } from './identity.user-request.js';
import { authenticated } from './permissions.js';

// Second factors of a user: passkeys and authenticator apps. Users add them on pages of the shop. Callers: the user, or anyone with `write:users`.

export class ListFactors extends UserRequest {}

export class RemoveFactor extends UserRequest {
  @Uuid()
  factorId: string;

  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;

  @Address()
  address?: string;
}

const factorAnswer = objectOf('Factor')({
  id: uuid,
  kind: described(oneOf(['passkey', 'totp']), '`totp`: an authenticator app.'),
  name: text(100),
  createdAt: instant,
  lastUsedAt: optional(instant),
  locked: described(boolean, 'Whether there is a copy of the passkey, which is why it is refused.'),
});

export type Factor = AnswerOf<typeof factorAnswer>;

const factorRemovalAnswer = objectOf('FactorRemoval')({
  id: described(uuid, 'Of the factor.'),
  state: described(oneOf(['removed', 'waiting']), '`waiting`: another admin must send the same request within 24 hours.'),
});

export type FactorRemoval = AnswerOf<typeof factorRemovalAnswer>;

const { read, write } = operationsOf<ErrorCode>('identity');
const forClients = forClientsUnder('Users');

export const factorOperations = {
  listFactors: forClients(
    read<Factor[]>()('listFactors', ListFactors, { errors: ['user-not-found', 'forbidden'] }),
    {
      route: 'GET /v3/user/:username/factors',
      access: authenticated,
      summary: 'List second factors',
      description: 'All of them, oldest first. Users add factors on pages of the shop.',
      answer: listOf(factorAnswer, 20),
    },
  ),
  removeFactor: forClients(
    write<FactorRemoval>()('removeFactor', RemoveFactor, { errors: ['user-not-found', 'forbidden', 'factor-not-found', ...sensitiveErrors] }),
    {
      route: 'DELETE /v3/user/:username/factors/:factorId',
      access: authenticated,
      summary: 'Remove a second factor',
      description:
        'With the last factor, the recovery codes end, too. Needs a recent login or the password of the caller. For another user it needs `write:users` and all ' +
        "permissions of that user; the factor of another admin goes when a second admin sends the same request within 24 hours.",
      answer: factorRemovalAnswer,
    },
  ),
};
