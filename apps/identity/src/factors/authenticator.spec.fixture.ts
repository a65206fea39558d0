import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

type Bytes = Uint8Array;
const b64 = (bytes: Bytes): string => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Bytes | string): Buffer => createHash('sha256').update(bytes).digest();

/** Encodes what passkeys need of CBOR: small integers, texts, bytes and maps. */
function cbor(value: number | string | Bytes | Map<number | string, unknown>): Buffer {
  const head = (major: number, length: number): Buffer =>
    length < 24 ? Buffer.of((major << 5) | length) : length < 256 ? Buffer.of((major << 5) | 24, length) : Buffer.of((major << 5) | 25, length >> 8, length & 255);
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Map) return Buffer.concat([head(5, value.size), ...[...value].flatMap(([name, one]) => [cbor(name), cbor(one as string)])]);
  return Buffer.concat([head(2, value.length), value]);
}

interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id?: string };
  readonly user: { readonly id: string };
}

interface RequestOptions {
  readonly challenge: string;
  readonly rpId?: string;
}

/** How an authenticator or its browser behaves. */
export interface Behaviour {
  readonly origin?: string;
  /** Whether it verifies its user, by a PIN for instance. */
  readonly isVerified?: boolean;
  readonly userHandle?: string;
}

/** An authenticator in software, with one passkey. */
export class TestAuthenticator {
  readonly id = randomBytes(32);
  private readonly key: { readonly publicKey: KeyObject; readonly privateKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  private userHandle = '';

  /** @param counter undefined: it does not count @param isSynced it is on several devices */
  constructor(
    readonly origin: string,
    public counter: number | undefined = 0,
    private readonly isSynced = false,
  ) {}

  /** Makes the passkey. @returns the answer of the browser, as the page sends it */
  create({ challenge, rp, user }: CreationOptions, behaviour: Behaviour = {}): string {
    this.userHandle = user.id;
    const { x = '', y = '' } = this.key.publicKey.export({ format: 'jwk' });
    const cose = cbor(new Map<number, unknown>([[1, 2], [3, -7], [-1, 1], [-2, Buffer.from(x, 'base64url')], [-3, Buffer.from(y, 'base64url')]]));
    const length = Buffer.of(0, this.id.length);
    const data = Buffer.concat([this.authenticatorData(rp.id ?? '', behaviour, 0x40), Buffer.alloc(16), length, this.id, cose]);
    const attestation = cbor(new Map<string, unknown>([['fmt', 'none'], ['attStmt', new Map()], ['authData', data]]));
    return this.answer({ clientDataJSON: b64(this.clientData('webauthn.create', challenge, behaviour)), attestationObject: b64(attestation), transports: ['usb'] });
  }

  /** Uses the passkey. */
  get({ challenge, rpId = '' }: RequestOptions, behaviour: Behaviour = {}): string {
    if (this.counter !== undefined) this.counter++;
    const clientData = this.clientData('webauthn.get', challenge, behaviour);
    const data = this.authenticatorData(rpId, behaviour, 0);
    const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), this.key.privateKey);
    return this.answer({ clientDataJSON: b64(clientData), authenticatorData: b64(data), signature: b64(signature), userHandle: behaviour.userHandle ?? this.userHandle });
  }

  private answer(response: object): string {
    const id = b64(this.id);
    return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response });
  }

  private clientData(type: string, challenge: string, { origin = this.origin }: Behaviour): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  }

  private authenticatorData(rpId: string, { isVerified = true }: Behaviour, more: number): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter ?? 0);
    return Buffer.concat([sha256(rpId), Buffer.of(0x01 | (isVerified ? 0x04 : 0) | (this.isSynced ? 0x18 : 0) | more), counter]);
  }
}
