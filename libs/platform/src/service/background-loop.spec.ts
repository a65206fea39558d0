import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '../logging.js';
import { BackgroundLoop } from './background-loop.js';

const logger = createLogger('test', 'fatal');
const hour = 3_600_000;

/** A loop whose runs are counted and can be waited for. */
class Counted {
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
  let counted: Counted;
  const start = (intervalMs: number, work: (run: number) => boolean | number | Promise<boolean | number>): Counted => {
    counted = new Counted(intervalMs, work);
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

  it('runs again when its run said, not sooner and not at its interval, and before that only when it is poked', async () => {
    const begun = performance.now();
    await start(hour, (run) => (run < 3 ? 30 : hour)).reached(3);
    expect(performance.now() - begun).toBeGreaterThan(55);
    counted.loop.poke();
    await counted.reached(4);
    await settled();
    expect(counted.runs).toBe(4);
  });

  it('runs when it is poked, also when that happens during a run', async () => {
    let endRun: () => void = () => undefined;
    start(hour, async (run) => {
      if (run === 1) await new Promise<void>((resolve) => (endRun = resolve));
      return false;
    });
    await counted.reached(1);
    counted.loop.poke();
    endRun();
    await counted.reached(2);
    await settled();
    counted.loop.poke();
    await counted.reached(3);
  });

  it('goes on after a failed run, and not before its interval, however often it is poked', async () => {
    start(hour, () => {
      throw new Error('the database is away');
    });
    await counted.reached(1);
    for (let n = 0; n < 10; n++) {
      counted.loop.poke();
      await settled();
    }
    expect(counted.runs).toBe(1);
    await counted.loop.stop();
    await start(5, (run) => {
      if (run < 3) throw new Error('the database is away');
      return false;
    }).reached(3);
  });

  it('does not run twice at the same time', async () => {
    let under = 0;
    let most = 0;
    start(hour, async (run) => {
      most = Math.max(most, ++under);
      await settled();
      under--;
      return run < 3;
    });
    counted.loop.start();
    counted.loop.poke();
    await counted.reached(3);
    expect(most).toBe(1);
  });

  it('stops after the run under way, and for good', async () => {
    let ended = false;
    start(hour, async () => {
      await settled();
      ended = true;
      return true;
    });
    await counted.reached(1);
    await counted.loop.stop();
    expect(ended).toBe(true);
    counted.loop.poke();
    counted.loop.start();
    await settled();
    expect(counted.runs).toBe(1);
  });

  it('takes an interval beyond what a timer can wait for a long one', async () => {
    start(2 ** 40, () => false);
    await settled();
    expect(counted.runs).toBe(1);
  });
});
