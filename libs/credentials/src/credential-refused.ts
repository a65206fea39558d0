import { CodedError } from '@plant-shop/platform/errors';

/** Codes: `unauthorized`, the credentials cannot be parsed; `credential-refused`, one of them is not, or no longer, valid. */
export class CredentialRefused extends CodedError {
  constructor(
    code: 'unauthorized' | 'credential-refused',
    message: string,
    /** WWW-Authenticate challenge, when it says more than that a credential is required. */
    readonly challenge?: string,
  ) {
    super(code, message);
    this.name = 'CredentialRefused';
  }
}
