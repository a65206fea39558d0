import { randomBytes, randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { type Actor, audit } from '@plant-shop/platform/patterns/audit-log';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import {
  type AuthenticationResponseJSON,
  type AuthenticatorTransport,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { MailOutbox } from '../mail/outbox.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { sha256 } from '../secrets/secrets.js';
import { findPasskey, insertChallenge, listPasskeys, lockPasskey, type PasskeyRecord, takeChallenge, usePasskey } from './factors.repository.js';

/** What a passkey has proven: possession, and by the PIN or the body of its user, who it is. */
export interface PasskeyProof {
  readonly userId: string;
  readonly factorId: string;
  /** As in RFC 8176: `swk` for a key that may be on several devices, else `hwk`. */
  readonly method: 'hwk' | 'swk';
}

/** A passkey that a browser has made. */
export type NewPasskey = Pick<PasskeyRecord, 'id' | 'userId' | 'credentialId' | 'publicKey' | 'counter' | 'transports' | 'isSynced'>;

export const methodOf = ({ isSynced }: Pick<PasskeyRecord, 'isSynced'>): PasskeyProof['method'] => (isSynced ? 'swk' : 'hwk');

/** How long the browser waits for its user, in milliseconds; the challenge ends then, too. */
const timeout = 300_000;
/** Ed25519, ES256, RS256. */
const supportedAlgorithmIDs = [-8, -7, -257];

/**
 * Passkeys (WebAuthn). Each is checked against a challenge that works once, for five minutes by the database's clock, and only on the page and in
 * the browser that it was made for. The authenticator must have verified its user.
 */
@Injectable()
export class Passkeys {
  /** Counts refused passkeys by reason, for a metric. */
  onRefusal: ((reason: RefusalReason) => void) | undefined;
  private readonly rpId: string;
  private readonly origin: string;

  constructor(
    private readonly database: Database,
    private readonly outbox: MailOutbox,
    @Inject(IDENTITY_OPTIONS) { publicUrl }: IdentityOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    const { hostname, origin } = new URL(publicUrl);
    this.rpId = hostname;
    this.origin = origin;
  }

  /** Browsers refuse passkeys for a bare IP address. */
  get isPossible(): boolean {
    return isIP(this.rpId.replaceAll(/[[\]]/g, '')) === 0;
  }

  /** Returns what the browser needs to make a passkey; undefined if it cannot. @param place the page and the browser */
  async creationOptions(place: string, { userId, username }: { readonly userId: string; readonly username: string }): Promise<PublicKeyCredentialCreationOptionsJSON | undefined> {
    if (!this.isPossible) return undefined;
    const existing = await listPasskeys(this.database, userId);
    return generateRegistrationOptions({
      rpName: 'Plant shop',
      rpID: this.rpId,
      userID: Uint8Array.from(Buffer.from(userId.replaceAll('-', ''), 'hex')),
      userName: username,
      timeout,
      challenge: await this.newChallenge(`new passkey of ${userId} ${place}`),
      attestationType: 'none',
      excludeCredentials: existing.map(descriptorOf),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs,
    });
  }

  /** Returns the passkey that a browser has made; undefined if it is refused. */
  async created(place: string, userId: string, answer: string): Promise<NewPasskey | undefined> {
    const response = parsed(answer);
    if (!response) {
      this.refuse('malformed', {});
      return undefined;
    }
    try {
      const { verified, registrationInfo: made } = await verifyRegistrationResponse({
        response,
        expectedChallenge: (challenge) => this.takeChallenge(`new passkey of ${userId} ${place}`, challenge),
        expectedOrigin: this.origin,
        expectedRPID: this.rpId,
        requireUserVerification: true,
        supportedAlgorithmIDs,
      });
      if (!verified) {
        this.refuse('invalid', { userId });
        return undefined;
      }
      const { credential } = made;
      return {
        id: randomUUID(),
        userId,
        credentialId: Buffer.from(credential.id, 'base64url'),
        publicKey: Buffer.from(credential.publicKey),
        counter: credential.counter,
        transports: (credential.transports ?? []).filter((one) => transportForm.test(one)).slice(0, maxTransports),
        isSynced: made.credentialDeviceType === 'multiDevice',
      };
    } catch (error) {
      this.refuse('invalid', { userId, detail: detailOf(error) });
      return undefined;
    }
  }

  /** Returns what the browser needs to use a passkey of a user; undefined if none can be used. */
  async requestOptions(place: string, userId: string): Promise<PublicKeyCredentialRequestOptionsJSON | undefined> {
    const own = this.isPossible ? (await listPasskeys(this.database, userId)).filter(({ lockedAt }) => lockedAt === null) : [];
    return own.length === 0 ? undefined : this.optionsFor(own, purposeOf(place, userId));
  }

  /** Returns what the browser needs to use any passkey that it has for the shop. */
  anyOptions(place: string): Promise<PublicKeyCredentialRequestOptionsJSON> {
    return this.optionsFor([], purposeOf(place, undefined));
  }

  private async optionsFor(own: readonly PasskeyRecord[], purpose: string): Promise<PublicKeyCredentialRequestOptionsJSON> {
    return generateAuthenticationOptions({
      rpID: this.rpId,
      timeout,
      challenge: await this.newChallenge(purpose),
      allowCredentials: own.map(descriptorOf),
      userVerification: 'required',
    });
  }

  /**
   * Checks a passkey. One whose counter has gone back is locked, and its user told: there is a copy of its key.
   * @param userId whose it must be, as for the options
   * @param requestId for the audit log
   * @returns undefined if it is refused
   */
  async check(place: string, answer: string, requestId: string, userId?: string): Promise<PasskeyProof | undefined> {
    const response = parsed(answer);
    if (!response) {
      this.refuse('malformed', {});
      return undefined;
    }
    const passkey = await findPasskey(this.database, Buffer.from(response.id, 'base64url'));
    // The challenge is used up in any case.
    if (!passkey || (userId !== undefined && passkey.userId !== userId)) {
      await this.takeChallenge(purposeOf(place, userId), challengeOf(response));
      this.refuse('unknown', {});
      return undefined;
    }
    const about = { userId: passkey.userId, factorId: passkey.id, requestId };
    let found: Awaited<ReturnType<Passkeys['verified']>>;
    try {
      found = await this.verified(place, passkey, response, userId);
    } catch (error) {
      this.refuse('invalid', { ...about, detail: detailOf(error) });
    }
    if (!found) return undefined;
    if (passkey.lockedAt !== null) {
      this.refuse('locked', about);
      return undefined;
    }
    const outcome = await this.database.transaction(async (tx) => {
      if (await usePasskey(tx, passkey.id, found)) return 'used';
      if (!(await lockPasskey(tx, passkey.id))) return 'locked';
      audit(tx, authenticator(requestId), { pattern: 'identity.lockPasskey' }, `${passkey.userId}/${passkey.id}`);
      await this.outbox.noticeTo(tx, passkey.userId, 'passkey-locked', { keyName: passkey.name });
      return 'counter';
    });
    if (outcome !== 'used') {
      this.refuse(outcome, { ...about, counter: found.counter });
      return undefined;
    }
    return { userId: passkey.userId, factorId: passkey.id, method: methodOf(found) };
  }

  /**
   * Exchanges a passkey, which works only in its browser, for a code that a request to the API can send as `currentCode`. It works once, for five
   * minutes.
   * @returns undefined if the passkey is refused
   */
  async exchange(place: string, answer: string, requestId: string): Promise<string | undefined> {
    const proof = await this.check(place, answer, requestId);
    return proof && Buffer.from(await this.newChallenge(exchangedFor(proof.userId))).toString('base64url');
  }

  /** Uses up a code of `exchange`. @returns false if it is none of this user, or does not work any more */
  isExchanged(userId: string, code: string): Promise<boolean> {
    return this.takeChallenge(exchangedFor(userId), code);
  }

  private async verified(place: string, passkey: PasskeyRecord, response: AuthenticationResponseJSON, userId: string | undefined): Promise<{ counter: number; isSynced: boolean } | undefined> {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: (challenge) => this.takeChallenge(purposeOf(place, userId), challenge),
      expectedOrigin: this.origin,
      expectedRPID: this.rpId,
      requireUserVerification: true,
      // The library would only throw for a counter that goes back. Ours is compared where it is written.
      credential: { id: response.id, publicKey: Uint8Array.from(passkey.publicKey), counter: 0, transports: passkey.transports as AuthenticatorTransport[] },
    });
    const { userHandle } = response.response;
    const isOwn = userHandle === undefined || Buffer.from(userHandle, 'base64url').toString('hex') === passkey.userId.replaceAll('-', '');
    if (!verified || !isOwn) {
      this.refuse('invalid', { userId: passkey.userId, factorId: passkey.id });
      return undefined;
    }
    return { counter: authenticationInfo.newCounter, isSynced: authenticationInfo.credentialDeviceType === 'multiDevice' };
  }

  private async newChallenge(purpose: string): Promise<Uint8Array<ArrayBuffer>> {
    const challenge = randomBytes(32);
    await this.database.transaction((tx: Transaction) => insertChallenge(tx, sha256(challenge.toString('base64url')), sha256(purpose)));
    return Uint8Array.from(challenge);
  }

  private takeChallenge(purpose: string, challenge: string): Promise<boolean> {
    return this.database.transaction((tx) => takeChallenge(tx, sha256(challenge), sha256(purpose)));
  }

  private refuse(reason: RefusalReason, about: object): void {
    this.onRefusal?.(reason);
    // `counter`: someone has a copy of the key.
    this.logger[reason === 'counter' ? 'warn' : 'info']({ reason, ...about }, 'passkey refused');
  }
}

export type RefusalReason = 'malformed' | 'unknown' | 'invalid' | 'locked' | 'counter';

/** What the library says about a refused answer, without the values that it quotes: they are the client's. */
const detailOf = (error: unknown): string => (error instanceof Error ? error.message.replaceAll(/"[^"]*"/g, '"…"').slice(0, 200) : typeof error);

const maxTransports = 10;
const transportForm = /^[a-z-]{1,20}$/;

/** What a challenge is for. */
const purposeOf = (place: string, userId: string | undefined): string => `passkey of ${userId ?? 'anyone'} ${place}`;

const exchangedFor = (userId: string): string => `change of ${userId}`;

/** The shop itself acts: whoever presented the passkey is not its user. */
const authenticator = (requestId: string): Actor => ({ requestId, credentials: [] });

const descriptorOf = ({ credentialId, transports }: PasskeyRecord): { id: string; transports: AuthenticatorTransport[] } => ({
  id: credentialId.toString('base64url'),
  transports: [...transports] as AuthenticatorTransport[],
});

function challengeOf({ response }: AuthenticationResponseJSON): string {
  const data = jsonOf(Buffer.from(response.clientDataJSON, 'base64url').toString());
  const challenge = isObject(data) ? data['challenge'] : undefined;
  return typeof challenge === 'string' ? challenge : '';
}

/** Parses a browser's credential. The library checks the rest. @returns undefined if it has another form */
function parsed(text: string): AuthenticationResponseJSON & RegistrationResponseJSON | undefined {
  const value = jsonOf(text);
  return isCredential(value) ? value : undefined;
}

const isCredential = (value: unknown): value is AuthenticationResponseJSON & RegistrationResponseJSON =>
  isObject(value) && typeof value['id'] === 'string' && isObject(value['response']) && typeof value['response']['clientDataJSON'] === 'string';

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
