import { applyDecorators } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import { Text } from './fields.js';
import { Description } from './schema.js';

/** Member of a sensitive change: the password of the caller, instead of a recent login. */
export const CurrentPassword = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Text({ max: 1_000 }), Description("The caller's own password. Required without a session that began in the last ten minutes; API keys with write:users are exempt."));

/** Member of a sensitive change: what must accompany the password of a caller with a second factor. */
export const CurrentCode = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Text({ max: 100 }), Description('A code of the authenticator app of the caller, or a recovery code. Required with `currentPassword` if the caller has a second factor. The console sends alone what it got for a passkey.'));

/** The client's network address, for the limit of failed passwords. */
export const Address = (): PropertyDecorator => applyDecorators(IsOptional(), Text());

/** What a sensitive change can answer beside its own errors. */
export const sensitiveErrors = ['recent-login-required', 'too-many-logins'] as const;

/** A request about a user, by name. */
export class UserRequest {
  /** Any text: a name of an invalid form is `user-not-found`, like one that does not exist. */
  @Text()
  username: string;
}
