import assert from 'node:assert/strict';

/** @typedef {import('playwright-core').Page} Page */

/** An authenticator that Chromium simulates for a page, with a PIN or the like. */
export class Authenticator {
  /** @param {import('playwright-core').CDPSession} session @param {string} id */
  constructor(session, id) {
    this.session = session;
    this.id = id;
  }

  /** @param {Page} page @param {any} [credential] one of another authenticator */
  static async for(page, credential) {
    const session = await page.context().newCDPSession(page);
    await session.send('WebAuthn.enable');
    const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    });
    if (credential) await session.send('WebAuthn.addCredential', { authenticatorId, credential });
    return new Authenticator(session, authenticatorId);
  }

  /** The passkey, with its private key and counter. */
  async credential() {
    const { credentials } = await this.session.send('WebAuthn.getCredentials', { authenticatorId: this.id });
    return credentials[0] ?? assert.fail('there is no passkey');
  }

  /** Its user loses it. */
  async remove() {
    await this.session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: this.id });
  }

  /** @param {boolean} isUserVerified */
  async verifiesUser(isUserVerified) {
    await this.session.send('WebAuthn.setUserVerified', { authenticatorId: this.id, isUserVerified });
  }
}
