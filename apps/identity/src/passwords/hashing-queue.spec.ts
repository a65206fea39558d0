import { describe, expect, it } from '@jest/globals';
import { HashingQueue } from './hashing-queue.js';

/** Hashes nothing: each piece of work ends when the test says so. */
class Trial {
  readonly queue = new HashingQueue(1);
  readonly started: string[] = [];
  readonly refused: string[] = [];
  private readonly ends: (() => void)[] = [];

  private work(name: string): () => Promise<void> {
    return () => {
      this.started.push(name);
      return new Promise((resolve) => this.ends.push(resolve));
    };
  }

  login(name: string): void {
    this.queue.addUrgent(this.work(name));
  }

  register(network: string, name: string, passwords = 1, isLate = (): boolean => false): void {
    const waiting = Array.from({ length: passwords }, (_, n) => this.work(passwords === 1 ? name : `${name}${n}`));
    this.queue.add({ network, waiting, isLate, refuse: (reason) => this.refused.push(`${name} ${reason}`) });
  }

  /** Ends all work. @returns the order in which it began */
  async run(): Promise<string> {
    while (this.ends.length > 0) {
      this.ends.shift()?.();
      await new Promise(setImmediate);
    }
    return this.started.join(' ');
  }
}

describe('the queue of passwords to hash', () => {
  it('lets logins overtake registrations, each in order of arrival', async () => {
    const trial = new Trial();
    trial.register('a', 'first', 3);
    trial.login('login1');
    trial.login('login2');
    expect(await trial.run()).toBe('first0 login1 login2 first1 first2');
  });

  it("gives networks turns, and keeps the order of each network's registrations", async () => {
    const trial = new Trial();
    trial.register('a', 'a', 4);
    trial.register('a', 'second');
    trial.register('b', 'b');
    trial.register('c', 'c', 2);
    expect(await trial.run()).toBe('a0 a1 b c0 a2 c1 a3 second');
  });

  it('says how many passwords come before the last one of a registration', async () => {
    const trial = new Trial();
    expect(trial.queue.turnsUntilEnd('a', 500)).toBe(500);
    trial.register('a', 'list', 501);
    expect([trial.queue.turnsUntilEnd('a', 1), trial.queue.turnsUntilEnd('b', 1), trial.queue.turnsUntilEnd('b', 10)]).toEqual([502, 3, 21]);
    trial.login('login');
    expect(trial.queue.turnsUntilEnd('b', 1)).toBe(4);
  });

  it('drops a registration as a whole once its deadline has passed', async () => {
    const trial = new Trial();
    let now = 0;
    trial.register('a', 'slow', 3, () => now > 0);
    trial.register('a', 'next');
    now = 1;
    expect(await trial.run()).toBe('slow0 next');
    expect(trial.refused).toEqual(['slow late']);
    expect(trial.queue.waiting).toBe(0);
  });

  it('refuses the last of the network with the most when 500 wait, so that others still come in', async () => {
    const trial = new Trial();
    for (let n = 0; n < 600; n++) trial.register('greedy', `g${n}`);
    expect(trial.refused).toHaveLength(99);
    trial.register('other', 'late');
    expect(trial.refused).toHaveLength(100);
    expect(trial.refused.every((one) => /^g\d+ crowded$/.test(one))).toBe(true);
    expect(await trial.run()).toMatch(/^g0 g1 late g2 /);
  });
});
