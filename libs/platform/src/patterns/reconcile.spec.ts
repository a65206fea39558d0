import { describe, expect, it } from '@jest/globals';
import { theService, unavailable } from '../errors.js';
import { createLogger } from '../logging.js';
import { type ComparedPage, reconcilePage } from './reconcile.js';

interface Drift {
  readonly id: number;
  readonly version: number;
}
const drift = (id: number, version = 1): Drift => ({ id, version });

/** Reconciles a page that is read as `pages`, one after the other. */
function reconcile(pages: readonly Partial<ComparedPage<Drift, number>>[], options: { dryRun?: boolean; repair?: (id: number) => unknown } = {}) {
  const unread = [...pages];
  return reconcilePage({
    compare: async () => ({ checked: 9, drifts: [], end: undefined, ...unread.shift() }),
    describe: ({ id }: Drift) => ({ id }),
    repair: async ({ id }) => options.repair?.(id) as undefined,
    dryRun: options.dryRun ?? false,
    logger: createLogger('test', 'silent'),
  });
}

describe('reconciling a page', () => {
  it('compares once if nothing differs', async () => {
    expect(await reconcile([{ end: 7 }, { checked: 1, end: 3 }])).toEqual({ checked: 9, next: 7, findings: [] });
  });

  it('repairs only what differs twice without a change', async () => {
    const pages = [{ drifts: [drift(1), drift(2), drift(3)] }, { drifts: [drift(1), drift(2, 8)] }];
    const repaired: number[] = [];
    const repair = (id: number) => (repaired.push(id), { outcome: 'mended' });
    expect(await reconcile(pages, { repair })).toEqual({ checked: 9, findings: [{ id: 1, outcome: 'mended' }] });
    expect(repaired).toEqual([1]);
    expect(await reconcile(pages, { dryRun: true })).toEqual({ checked: 9, findings: [{ id: 1, outcome: 'found' }] });
  });

  it('reports nothing that changed before its repair, and as unfinished what met an unavailable service', async () => {
    const pages = [{ drifts: [drift(1), drift(2)] }, { drifts: [drift(1), drift(2)] }];
    const repair = (id: number) => (id === 1 ? undefined : Promise.reject(unavailable(theService('store'))));
    expect((await reconcile(pages, { repair })).findings).toEqual([{ id: 2, outcome: 'unfinished' }]);
    await expect(reconcile(pages, { repair: () => Promise.reject(new Error('a defect')) })).rejects.toThrow('a defect');
  });

  it('continues after the key up to which both readings came', async () => {
    const of = (first: number | undefined, second: number | undefined) =>
      reconcile([{ drifts: [drift(1)], end: first }, { drifts: [drift(1)], end: second }]);
    expect((await of(5, 4)).next).toBe(4);
    expect((await of(5, undefined)).next).toBe(5);
    expect((await of(undefined, 6)).next).toBe(6);
    expect(await of(undefined, undefined)).not.toHaveProperty('next');
  });
});
