import { describe, expect, it } from '@jest/globals';
import { ShopProblem } from '@plant-shop/client';
import { faultOf } from './problem.js';
import { problemText } from './problem-text.js';

const problem = (code: string, status: number): ShopProblem =>
  new ShopProblem({
    type: `http://shop/problems/${code}`,
    title: 'Title of the API',
    status,
    detail: 'Correct the fields named in errors and send the request again. It needs read:orders.',
    code: code as ShopProblem['code'],
    requestId: 'r-1',
    errors: [{ pointer: '/trackingNumber', detail: 'must be text of 1 to 200 characters' }, { pointer: '/tags/0/name', detail: 'is a text of a newer shop' }],
  });

describe('the text of a problem', () => {
  it('is one for people, with the faults of fields and the request', () => {
    const text = problemText(problem('invalid-input', 400));
    expect(text).toEqual({ what: 'Something that you wrote is not accepted.', todo: 'Nothing was changed. Correct it, then try again.', faults: [{ field: 'trackingNumber', detail: 'Enter 1 to 200 characters.' }, { field: 'tags', detail: 'Entry 1: The shop does not accept this.' }], requestId: 'r-1' });
    expect(faultOf(problem('invalid-input', 400), 'trackingNumber')).toBe('Enter 1 to 200 characters.');
    expect(faultOf(problem('invalid-input', 400), 'name')).toBeUndefined();
  });

  it.each([['of-a-newer-shop', 409], ['forbidden', 403], ['internal', 500], ['order-transition-refused', 409]])('%s has no words of the API', (code, status) => {
    const { what, todo } = problemText(problem(code, status));
    expect(`${what} ${todo}`).not.toMatch(/API|errors|read:orders|[a-z]+-[a-z]+-/);
  });
});
