import { describe, expect, it } from '@jest/globals';
import { createLogger } from '../logging.js';
import { type ShutdownPhase, shutDown } from './service.js';

const log: string[] = [];
const logger = createLogger('test', 'info', { write: (line: string) => void log.push(line) });

function phases(...given: readonly Omit<ShutdownPhase, 'name'>[]): { ran: number[]; list: ShutdownPhase[] } {
  const ran: number[] = [];
  const list = given.map(({ limitMs, run }, n) => ({
    name: `phase ${n}`,
    limitMs,
    run: () => {
      ran.push(n);
      return run();
    },
  }));
  return { ran, list };
}

const atOnce = (): void => undefined;
const never = (): Promise<void> => new Promise(() => undefined);

describe('a shutdown', () => {
  it('runs its phases one after another, each to its end', async () => {
    const order: string[] = [];
    const slow = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push('slow ended');
    };
    const { list } = phases({ limitMs: 5_000, run: slow }, { limitMs: 5_000, run: () => void order.push('next began') });
    await shutDown(list, logger);
    expect(order).toEqual(['slow ended', 'next began']);
  });

  it('continues after a hanging phase at its limit, and logs which one it was', async () => {
    const { ran, list } = phases({ limitMs: 30, run: never }, { limitMs: 5_000, run: atOnce });
    const started = performance.now();
    await shutDown(list, logger);
    expect(ran).toEqual([0, 1]);
    expect(performance.now() - started).toBeLessThan(4_000);
    expect(log.join('')).toContain('"phase":"phase 0","limitMs":30');
  });

  it('continues after a phase that throws or rejects', async () => {
    const fails = (): never => {
      throw new Error('at once');
    };
    const { ran, list } = phases(
      { limitMs: 5_000, run: fails },
      { limitMs: 5_000, run: () => Promise.reject(new Error('later')) },
      { limitMs: 5_000, run: atOnce },
    );
    await shutDown(list, logger);
    expect(ran).toEqual([0, 1, 2]);
    expect(log.join('')).toContain('at once');
    expect(log.join('')).toContain('later');
  });
});
