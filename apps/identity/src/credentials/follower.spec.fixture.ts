import { type Credential, identity, type Revocation } from '@plant-shop/contracts/identity';
import { digestOf, type TestIdentity } from '../identity.spec.fixture.js';

/** Follows the revocation log by the contract's protocol: caches answers and pulls every 250 ms. */
export class Follower {
  private readonly cache = new Map<string, Credential>();
  private head = 0;
  private timer: NodeJS.Timeout | undefined;
  private pulling = Promise.resolve();
  /** All entries of the log since the start. */
  readonly received: Revocation[] = [];

  private constructor(private readonly shop: TestIdentity) {}

  static async start(shop: TestIdentity): Promise<Follower> {
    const follower = new Follower(shop);
    await follower.pull();
    follower.received.length = 0;
    follower.timer = setInterval(() => {
      follower.pulling = follower.pulling.then(() => follower.pull());
    }, 250);
    return follower;
  }

  /** Returns the credential of an API key or session token, from the cache if possible. */
  async check(kind: 'session' | 'apiKey', secret: string): Promise<Credential> {
    const cached = this.cache.get(secret);
    const end = cached?.expiresAt === undefined ? Infinity : Date.parse(cached.expiresAt);
    if (cached && Date.now() < end) return cached;
    this.cache.delete(secret);
    const credential = await this.shop.call(identity.checkCredential, { kind, digest: digestOf(secret) });
    if (credential.position >= this.head) this.cache.set(secret, credential);
    return credential;
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.pulling;
  }

  private async pull(): Promise<void> {
    const { head, entries } = await this.shop.call(identity.readRevocations, { after: this.head });
    this.received.push(...entries);
    for (const { kind, id } of entries) {
      for (const [secret, credential] of this.cache) {
        const isUser = (kind === 'user' || kind === 'userChanged') && credential.userId === id;
        if (isUser || (credential.kind === kind && credential.id === id)) this.cache.delete(secret);
      }
    }
    this.head = head;
  }
}
