import { CodedError } from '@plant-shop/platform/errors';

/** `unauthorized`: what was shown cannot be read. `credential-refused`: it is not, or no longer, valid. */
export class CredentialRefused extends CodedError {
  constructor(
    code: 'unauthorized' | 'credential-refused',
    message: string,
    /** For the header WWW-Authenticate, when it says more than that a credential is needed. */
    readonly challenge?: string,
  ) {
    super(code, message);
    this.name = 'CredentialRefused';
  }
}
