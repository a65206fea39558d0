import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Revocation } from '@plant-shop/contracts/identity';
import { CredentialCache } from './credential-cache.js';
import type { RevocationListener } from './revocation-log.js';

interface Answer {
  readonly id: string;
  readonly position: number;
  readonly expiresAt?: number;
}

/** The parts of the log that matter here, moved by hand. */
class Log {
  position = 0;
  generation = 0;
  /** Identity's clock. */
  time = 1_767_225_600_000;
  private listener: RevocationListener | undefined;
  identityTime(): number {
    return this.time;
  }
  listen(listener: RevocationListener): void {
    this.listener = listener;
  }
  revoke(kind: Revocation['kind'], id: string): void {
    this.position++;
    this.listener?.revoked([{ position: this.position, kind, id }]);
  }
  break(): void {
    this.generation++;
    this.listener?.forget();
  }
}

describe('kept answers', () => {
  let log: Log;
  let now: number;
  let kept: CredentialCache<Answer>;
  let asked: number;
  beforeEach(() => {
    log = new Log();
    now = 1_000;
    asked = 0;
    kept = new CredentialCache<Answer>(
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

  const ask = (answer: Partial<Answer> = {}) => async (): Promise<Answer> => {
    asked++;
    return { id: 'a', position: log.position, ...answer };
  };

  it('are asked once', async () => {
    await kept.getOrFetch('k', ask());
    await kept.getOrFetch('k', ask());
    expect(asked).toBe(1);
    expect(kept.get('k')).toMatchObject({ id: 'a' });
  });

  it('are gone when their credential is revoked, and no other', async () => {
    await kept.getOrFetch('k', ask({ id: 'a' }));
    await kept.getOrFetch('l', ask({ id: 'b' }));
    log.revoke('apiKey', 'a');
    expect(kept.get('k')).toBeUndefined();
    expect(kept.get('l')).toBeDefined();
  });

  it('that are older than what the log has shown serve once and are not kept', async () => {
    log.revoke('apiKey', 'other');
    await expect(kept.getOrFetch('k', ask({ position: 0 }))).resolves.toMatchObject({ position: 0 });
    expect(kept.get('k')).toBeUndefined();
  });

  it('that are newer than what the log has shown are kept', async () => {
    await kept.getOrFetch('k', ask({ position: 7 }));
    expect(kept.get('k')).toBeDefined();
  });

  it('that were overtaken by a revocation while they travelled are not kept', async () => {
    let answer: (value: Answer) => void = () => undefined;
    const asking = kept.getOrFetch('k', () => new Promise((resolve) => (answer = resolve)));
    log.revoke('apiKey', 'a');
    answer({ id: 'a', position: 0 });
    await asking;
    expect(kept.get('k')).toBeUndefined();
  });

  it('that were asked before the history broke are not kept, whatever position they carry', async () => {
    let answer: (value: Answer) => void = () => undefined;
    const asking = kept.getOrFetch('k', () => new Promise((resolve) => (answer = resolve)));
    log.break();
    answer({ id: 'a', position: 100 });
    await asking;
    expect(kept.get('k')).toBeUndefined();
  });

  it('end with the credential, or after a minute', async () => {
    const { time } = log;
    await kept.getOrFetch('short', ask({ expiresAt: time + 4_000 }));
    await kept.getOrFetch('long', ask({ expiresAt: time + 500_000 }));
    log.time = time + 3_999;
    expect(kept.get('short')).toBeDefined();
    log.time = time + 4_000;
    expect(kept.get('short')).toBeUndefined();
    expect(kept.get('long')).toBeDefined();
    now = 61_000;
    expect(kept.get('long')).toBeUndefined();
  });

  it('are bounded: the least recently used goes first', async () => {
    for (const key of ['k', 'l', 'm']) await kept.getOrFetch(key, ask());
    kept.get('k');
    await kept.getOrFetch('n', ask());
    expect(kept.size).toBe(3);
    expect(kept.get('l')).toBeUndefined();
    expect(kept.get('k')).toBeDefined();
  });

  it('are asked once by requests that come at the same time', async () => {
    await Promise.all([kept.getOrFetch('k', ask()), kept.getOrFetch('k', ask()), kept.getOrFetch('k', ask())]);
    expect(asked).toBe(1);
  });

  it('are not shared with a request that came after a revocation which they do not know', async () => {
    const answers: ((value: Answer) => void)[] = [];
    const slow = (): Promise<Answer> => new Promise((resolve) => answers.push(resolve));
    const before = kept.getOrFetch('k', slow);
    log.revoke('apiKey', 'a');
    const after = kept.getOrFetch('k', () => Promise.reject(new Error('refused')));
    answers[0]?.({ id: 'a', position: 0 });
    await expect(before).resolves.toMatchObject({ id: 'a' });
    await expect(after).rejects.toThrow('refused');
  });

  it('that are refusals are not kept', async () => {
    await expect(kept.getOrFetch('k', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    await expect(kept.getOrFetch('k', ask())).resolves.toMatchObject({ id: 'a' });
  });
});
