import { HttpError } from '@plant-shop/contracts/problem';

/** Codes: `unauthorized`, the credentials cannot be parsed; `credential-refused`, one of them is not, or no longer, valid. */
export class CredentialRefused extends HttpError {
  /** @param challenge WWW-Authenticate, if it says more than that a credential is required */
  constructor(code: 'unauthorized' | 'credential-refused', message: string, challenge?: string) {
    super(code, message, {}, challenge === undefined ? {} : { 'www-authenticate': challenge });
    this.name = 'CredentialRefused';
  }
}
