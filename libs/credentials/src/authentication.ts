import { HttpError } from '@plant-shop/contracts/problem';
import type { Principal } from '@plant-shop/platform/rpc/context';

/** The result of checking the credentials of a request or connection. */
export interface Authentication {
  readonly principal: Principal;
  /** Names the acting user: all credentials of a user share limits. */
  readonly client: string;
  /** Entries of the revocation log (`revocationKey`), any of which ends connections opened with these credentials. */
  readonly revokedBy: readonly string[];
  /** When the first of the credentials expires: milliseconds since 1970, by identity's clock; Infinity for never. */
  readonly expiresAt: number;
  /** SHA-256 of the presented session token, in base64url. */
  readonly sessionDigest?: string;
}

/** Codes: `unauthorized`, the credentials cannot be parsed; `credential-refused`, one of them is not, or no longer, valid. */
export class CredentialRefused extends HttpError {
  /** @param challenge WWW-Authenticate, if it says more than that a credential is required */
  constructor(code: 'unauthorized' | 'credential-refused', message: string, challenge?: string) {
    super(code, message, {}, challenge === undefined ? {} : { 'www-authenticate': challenge });
    this.name = 'CredentialRefused';
  }
}
