import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { forClientsUnder, jsonObject, message } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { ObjectOf, Text } from './fields.js';
import { Address, UserRequest } from './identity.user-request.js';
import { authenticated, limitedByAddress } from './permissions.js';
import { Description } from './schema.js';

// Mails that users ask for: with a link that verifies their address, or that replaces a forgotten password.

/** Names an account; either member, not both. */
export class AskedAccount {
  @IsOptional()
  @Text()
  @Description('The verified address of the account.')
  email?: string;

  @IsOptional()
  @Text()
  username?: string;
}

export class RequestRecovery {
  @ObjectOf(() => AskedAccount)
  account: AskedAccount;

  @Address()
  address?: string;
}

export class SendEmailVerification extends UserRequest {
  @Address()
  address?: string;
}

const { write } = operationsOf<ErrorCode>('identity');
const forClients = forClientsUnder('Users');

export const emailOperations = {
  /** Answers the same after the same work, whether there is such an account or not. */
  requestRecovery: forClients(
    write<{ sent: string }>()('requestRecovery', RequestRecovery, { errors: ['too-many-mails'] }),
    {
      route: 'POST /v3/recovery',
      access: limitedByAddress(10),
      summary: 'Ask for a link that replaces a forgotten password',
      description:
        'The link goes to the verified e-mail address of the account, works once and for 15 minutes, and leads to a page of the shop. The response ' +
        'is the same whether there is such an account or not.',
      body: jsonObject('account'),
      answer: message('sent', 'If there is such an account with a verified e-mail address, a link was sent to it.'),
    },
  ),
  /** `email-not-mailable`: the user has no address that mail can be sent to. */
  sendEmailVerification: forClients(
    write<{ email: string }>()('sendEmailVerification', SendEmailVerification, {
      errors: ['user-not-found', 'forbidden', 'email-not-mailable', 'too-many-mails'],
    }),
    {
      route: 'POST /v3/user/:username/emailVerification',
      access: authenticated,
      summary: 'Send the verification of an e-mail address again',
      description:
        'Only for the user and with `write:users`. The mail has a link, which works for 24 hours. Nothing is sent if the address is verified. The message is the address.',
      answer: message('email', 'ada@shop.example'),
    },
  ),
};
