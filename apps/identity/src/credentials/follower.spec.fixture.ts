import { type Credential, identity, type Revocation } from '@plant-shop/contracts/identity';
import { digestOf, type TestIdentity } from '../identity.spec.fixture.js';

/** Keeps answers for good while it follows the log, as the contract says, by pulling every 250 ms. */
export class Follower {
  private readonly kept = new Map<string, Credential>();
  private head = 0;
  private timer: NodeJS.Timeout | undefined;
  private pulling = Promise.resolve();
  /** Everything that the log has told since the start. */
  readonly told: Revocation[] = [];

  private constructor(private readonly shop: TestIdentity) {}

  static async start(shop: TestIdentity): Promise<Follower> {
    const follower = new Follower(shop);
    await follower.pull();
    follower.told.length = 0;
    follower.timer = setInterval(() => {
      follower.pulling = follower.pulling.then(() => follower.pull());
    }, 250);
    return follower;
  }

  /** What the secret of a key or session leads to, as far as is known here. */
  async check(kind: 'session' | 'apiKey', secret: string): Promise<Credential> {
    const kept = this.kept.get(secret);
    const end = kept?.expiresAt === undefined ? Infinity : Date.parse(kept.expiresAt);
    if (kept && Date.now() < end) return kept;
    this.kept.delete(secret);
    const credential = await this.shop.call(identity.checkCredential, { kind, digest: digestOf(secret) });
    if (credential.position >= this.head) this.kept.set(secret, credential);
    return credential;
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.pulling;
  }

  private async pull(): Promise<void> {
    const { head, entries } = await this.shop.call(identity.readRevocations, { after: this.head });
    this.told.push(...entries);
    for (const { kind, id } of entries) {
      for (const [secret, credential] of this.kept) {
        const isUser = (kind === 'user' || kind === 'userChanged') && credential.userId === id;
        if (isUser || (credential.kind === kind && credential.id === id)) this.kept.delete(secret);
      }
    }
    this.head = head;
  }
}
