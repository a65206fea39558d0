import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '../logging.js';
import { BackgroundLoop } from './background-loop.js';

const logger = createLogger('test', 'fatal');
const hour = 3_600_000;

/** A loop that counts its runs. */
class CountedLoop {
  runs = 0;
  private readonly waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  readonly loop: BackgroundLoop;

  constructor(intervalMs: number, work: (run: number) => boolean | number | Promise<boolean | number>) {
    this.loop = new BackgroundLoop(
      { name: 'test', intervalMs },
      async () => {
        this.runs++;
        for (const one of this.waiting) if (one.count <= this.runs) one.resolve();
        return work(this.runs);
      },
      logger,
    );
  }

  reached(count: number): Promise<void> {
    if (this.runs >= count) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ count, resolve }));
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

describe('a background loop', () => {
  let counted: CountedLoop;
  const start = (intervalMs: number, work: (run: number) => boolean | number | Promise<boolean | number>): CountedLoop => {
    counted = new CountedLoop(intervalMs, work);
    counted.loop.start();
    return counted;
  };
  afterEach(() => counted.loop.stop());

  it('runs at once, and again while there is more to do', async () => {
    await start(hour, (run) => run < 3).reached(3);
    await settled();
    expect(counted.runs).toBe(3);
  });

  it('runs again after its interval', () => start(5, () => false).reached(3));

  it('runs again after the pause that its run returned, or when it is notified', async () => {
    const begun = performance.now();
    await start(hour, (run) => (run < 3 ? 30 : hour)).reached(3);
    expect(performance.now() - begun).toBeGreaterThan(55);
    counted.loop.notify();
    await counted.reached(4);
    await settled();
    expect(counted.runs).toBe(4);
  });

  it('runs again when it is notified, also during a run', async () => {
    let endRun: () => void = () => undefined;
    start(hour, async (run) => {
      if (run === 1) await new Promise<void>((resolve) => (endRun = resolve));
      return false;
    });
    await counted.reached(1);
    counted.loop.notify();
    endRun();
    await counted.reached(2);
    await settled();
    counted.loop.notify();
    await counted.reached(3);
  });

  it('repeats a failed run after its interval, not sooner, even if it is notified', async () => {
    start(hour, () => {
      throw new Error('the database is unreachable');
    });
    await counted.reached(1);
    for (let n = 0; n < 10; n++) {
      counted.loop.notify();
      await settled();
    }
    expect(counted.runs).toBe(1);
    await counted.loop.stop();
    await start(5, (run) => {
      if (run < 3) throw new Error('the database is unreachable');
      return false;
    }).reached(3);
  });

  it('never has two concurrent runs', async () => {
    let running = 0;
    let maxRunning = 0;
    start(hour, async (run) => {
      maxRunning = Math.max(maxRunning, ++running);
      await settled();
      running--;
      return run < 3;
    });
    counted.loop.start();
    counted.loop.notify();
    await counted.reached(3);
    expect(maxRunning).toBe(1);
  });

  it('stops for good after the current run', async () => {
    let ended = false;
    start(hour, async () => {
      await settled();
      ended = true;
      return true;
    });
    await counted.reached(1);
    await counted.loop.stop();
    expect(ended).toBe(true);
    counted.loop.notify();
    counted.loop.start();
    await settled();
    expect(counted.runs).toBe(1);
  });

  it('treats an interval beyond the longest timer delay as a long one', async () => {
    start(2 ** 40, () => false);
    await settled();
    expect(counted.runs).toBe(1);
  });
});
