import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Revocation } from '@plant-shop/contracts/identity';
import { CredentialCache } from './credential-checker.js';
import type { RevocationListener } from './revocation-log.js';

interface Answer {
  readonly id: string;
  readonly position: number;
  readonly expiresAt?: number;
}

/** The parts of the log that the cache uses, controlled by the test. */
class FakeLog {
  position = 0;
  generation = 0;
  /** Identity's clock. */
  time = 1_767_225_600_000;
  private listener: RevocationListener | undefined;
  identityTime(): number {
    return this.time;
  }
  addListener(listener: RevocationListener): void {
    this.listener = listener;
  }
  revoke(kind: Revocation['kind'], id: string): void {
    this.position++;
    this.listener?.revoked([{ position: this.position, kind, id }]);
  }
  break(): void {
    this.generation++;
    this.listener?.forget('broken');
  }
}

describe('the credential cache', () => {
  let log: FakeLog;
  let now: number;
  let cache: CredentialCache<Answer>;
  let fetches: number;
  beforeEach(() => {
    log = new FakeLog();
    now = 1_000;
    fetches = 0;
    cache = new CredentialCache<Answer>(
      log,
      {
        maxEntries: 3,
        maxAgeMs: 60_000,
        expiresAt: ({ expiresAt }) => expiresAt,
        isRevokedBy: ({ id }, revoked) => revoked.has(`apiKey:${id}`),
      },
      () => now,
    );
  });

  const fetch = (answer: Partial<Answer> = {}) => async (): Promise<Answer> => {
    fetches++;
    return { id: 'a', position: log.position, ...answer };
  };

  it('fetches an answer once', async () => {
    await cache.getOrFetch('k', fetch());
    await cache.getOrFetch('k', fetch());
    expect(fetches).toBe(1);
    expect(cache.get('k')).toMatchObject({ id: 'a' });
  });

  it('drops the answer for a revoked credential, and no other', async () => {
    await cache.getOrFetch('k', fetch({ id: 'a' }));
    await cache.getOrFetch('l', fetch({ id: 'b' }));
    log.revoke('apiKey', 'a');
    expect(cache.get('k')).toBeUndefined();
    expect(cache.get('l')).toBeDefined();
  });

  it('returns an answer older than the log, but does not store it', async () => {
    log.revoke('apiKey', 'other');
    await expect(cache.getOrFetch('k', fetch({ position: 0 }))).resolves.toMatchObject({ position: 0 });
    expect(cache.get('k')).toBeUndefined();
  });

  it('stores an answer newer than the log', async () => {
    await cache.getOrFetch('k', fetch({ position: 7 }));
    expect(cache.get('k')).toBeDefined();
  });

  it('does not store an answer that a revocation overtook on its way', async () => {
    let answer: (value: Answer) => void = () => undefined;
    const pending = cache.getOrFetch('k', () => new Promise((resolve) => (answer = resolve)));
    log.revoke('apiKey', 'a');
    answer({ id: 'a', position: 0 });
    await pending;
    expect(cache.get('k')).toBeUndefined();
  });

  it('does not store an answer fetched before the history broke, whatever its position', async () => {
    let answer: (value: Answer) => void = () => undefined;
    const pending = cache.getOrFetch('k', () => new Promise((resolve) => (answer = resolve)));
    log.break();
    answer({ id: 'a', position: 100 });
    await pending;
    expect(cache.get('k')).toBeUndefined();
  });

  it('drops answers when the credential expires, or after a minute', async () => {
    const { time } = log;
    await cache.getOrFetch('short', fetch({ expiresAt: time + 4_000 }));
    await cache.getOrFetch('long', fetch({ expiresAt: time + 500_000 }));
    log.time = time + 3_999;
    expect(cache.get('short')).toBeDefined();
    log.time = time + 4_000;
    expect(cache.get('short')).toBeUndefined();
    expect(cache.get('long')).toBeDefined();
    now = 61_000;
    expect(cache.get('long')).toBeUndefined();
  });

  it('is bounded, and evicts the least recently used answer', async () => {
    for (const key of ['k', 'l', 'm']) await cache.getOrFetch(key, fetch());
    cache.get('k');
    await cache.getOrFetch('n', fetch());
    expect(cache.get('l')).toBeUndefined();
    for (const key of ['k', 'm', 'n']) expect(cache.get(key)).toBeDefined();
  });

  it('fetches once for concurrent requests', async () => {
    await Promise.all([cache.getOrFetch('k', fetch()), cache.getOrFetch('k', fetch()), cache.getOrFetch('k', fetch())]);
    expect(fetches).toBe(1);
  });

  it('shares no answer with a request that began after a revocation which the answer predates', async () => {
    const answers: ((value: Answer) => void)[] = [];
    const slow = (): Promise<Answer> => new Promise((resolve) => answers.push(resolve));
    const before = cache.getOrFetch('k', slow);
    log.revoke('apiKey', 'a');
    const after = cache.getOrFetch('k', () => Promise.reject(new Error('refused')));
    answers[0]?.({ id: 'a', position: 0 });
    await expect(before).resolves.toMatchObject({ id: 'a' });
    await expect(after).rejects.toThrow('refused');
  });

  it('does not store a refusal', async () => {
    await expect(cache.getOrFetch('k', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    await expect(cache.getOrFetch('k', fetch())).resolves.toMatchObject({ id: 'a' });
  });
});
