import { describe, expect, it } from '@jest/globals';
import { NotTheShop, type ProblemCode, ShopProblem, Unreachable } from './errors.js';
import { isRead, mayRepeat, pauseMs, retryAfterOf, takesKey } from './repeat.js';

const problem = (code: ProblemCode, status: number): ShopProblem => new ShopProblem({ type: 'http://shop/problems', title: 'x', status, code, requestId: 'r' });
const broken = new Unreachable('http://shop', 'ECONNRESET', { outcome: 'unknown', cause: undefined });

describe('a failed call', () => {
  it('is repeated when it had no effect, whatever the operation', () => {
    for (const code of ['overloaded', 'unavailable', 'unknown-operation', 'too-many-requests'] as const) {
      expect(mayRepeat(problem(code, code === 'too-many-requests' ? 429 : 503), false)).toBe(true);
    }
  });

  it('that may have taken effect is repeated only if it takes effect at most once', () => {
    const page = new NotTheShop('http://shop', 502, 'text/html', '<html>', { outcome: 'unknown' });
    for (const error of [problem('outcome-unknown', 503), broken, page]) {
      expect([mayRepeat(error, true), mayRepeat(error, false)]).toEqual([true, false]);
    }
  });

  it('is not repeated when it was refused', () => {
    for (const error of [problem('insufficient-stock', 409), problem('credential-refused', 401), problem('invalid-input', 400)]) {
      expect(mayRepeat(error, true)).toBe(false);
    }
  });

  it.each([
    ['GET /store/order/{orderId}', { read: true, keyed: false }],
    ['GET /user/login', { read: false, keyed: false }],
    ['GET /user/logout', { read: false, keyed: false }],
    ['POST /store/order', { read: false, keyed: true }],
    ['POST /user', { read: false, keyed: false }],
    ['PUT /plant', { read: false, keyed: false }],
    ['DELETE /plant/{plantId}', { read: false, keyed: false }],
  ])('%s is classified as a read, as accepting a key, or as neither', (operation, expected) => {
    expect({ read: isRead(operation), keyed: takesKey(operation) }).toEqual(expected);
  });
});

describe('the pause before a repetition', () => {
  it('is as long as the shop asked, plus a little to spread clients', () => {
    expect([pauseMs(1_000, 3, 0), pauseMs(1_000, 3, 0.5)]).toEqual([1_000, 1_125]);
  });

  it('is otherwise random, with a bound that doubles up to 5 s', () => {
    expect([0, 1, 2, 10, 2_000].map((failures) => pauseMs(undefined, failures, 1))).toEqual([200, 400, 800, 5_000, 5_000]);
    expect(pauseMs(undefined, 5, 0)).toBe(0);
  });

  it.each([
    ['2', 2_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['soon', undefined],
  ])('reads Retry-After: %s', (text, expected) => {
    expect(retryAfterOf(new Headers({ 'retry-after': text }))).toBe(expected);
  });
});

describe('a problem', () => {
  it('has an outcome, even for a code that this version does not know', () => {
    expect(problem('plant-not-found', 404).outcome).toBe('refused');
    expect(problem('unavailable', 503).outcome).toBe('not-done');
    expect(problem('outcome-unknown', 503).outcome).toBe('unknown');
    expect(problem('internal', 500).outcome).toBe('unknown');
    expect(problem('greenhouse-flooded' as ProblemCode, 409).outcome).toBe('refused');
    expect(problem('greenhouse-flooded' as ProblemCode, 503).outcome).toBe('unknown');
  });

  it('has the typed members of its code', () => {
    const error: ShopProblem = new ShopProblem({ type: 'http://shop/problems', title: 'Not enough stock', status: 409, code: 'insufficient-stock', requestId: 'r', available: 3 });
    const left: number | undefined = error.is('insufficient-stock') ? error.members.available : undefined;
    expect(left).toBe(3);
    expect(error.is('order-exists')).toBe(false);
    expect(error.is('insufficient-stock', 'lines')).toBe(false);
    const ofBasket: ShopProblem = new ShopProblem({ type: 'http://shop/problems', title: 'Not enough stock', status: 409, code: 'insufficient-stock', requestId: 'r', lines: [{ pointer: '/lines/0', plantId: 7 }] });
    const refused: readonly string[] = ofBasket.is('insufficient-stock', 'lines') ? ofBasket.members.lines.map(({ pointer }) => pointer) : [];
    expect(refused).toEqual(['/lines/0']);
  });
});
