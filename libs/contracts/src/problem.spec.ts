import { describe, expect, it } from '@jest/globals';
import { CodedError, theService, unavailable } from '@plant-shop/platform/errors';
import { HttpError, problemResponse } from './problem.js';
import { problemTable } from './problem-table.js';

const at = { publicUrl: 'https://plants.example', requestId: 'r1', instance: '/v3/plant', headers: { 'cache-control': 'no-store' } };
const always = { 'cache-control': 'no-store', 'x-request-id': 'r1', 'content-type': 'application/problem+json; charset=utf-8' };
const bodyOf = (error: CodedError): Record<string, unknown> => JSON.parse(problemResponse(error, at).body) as Record<string, unknown>;

describe('the problem table', () => {
  it('has an error status for every code', () => {
    for (const { status } of Object.values(problemTable)) expect(status).toBeGreaterThanOrEqual(400);
  });

  it('uses 500 only for defects', () => {
    const defects = Object.entries(problemTable).filter(([, { status }]) => status === 500).map(([code]) => code);
    expect(defects.sort()).toEqual(['internal', 'malformed-batch']);
  });
});

describe('a problem', () => {
  it('has the members of RFC 9457, code and requestId', () => {
    expect(bodyOf(new CodedError('plant-not-found', 'There is no plant 7.'))).toEqual({
      type: 'https://plants.example/problems/plant-not-found',
      title: 'No such plant',
      status: 404,
      detail: 'There is no plant 7.',
      instance: '/v3/plant',
      code: 'plant-not-found',
      requestId: 'r1',
    });
  });

  it("includes the service's details, which cannot replace standard members", () => {
    const error = new CodedError('insufficient-stock', 'Order fewer.', { available: 3, status: 200, code: 'ok' });
    expect(bodyOf(error)).toMatchObject({ available: 3, status: 409, code: 'insufficient-stock' });
  });

  it.each([new CodedError('internal', 'SELECT 1', { sql: 'x' }), new CodedError('made-up', 'hunter2')])(
    'reveals nothing about a defect',
    (error) => {
      const problem = problemResponse(error, at);
      expect(problem).toMatchObject({ status: 500, isDefect: true });
      expect(Object.keys(JSON.parse(problem.body) as object).sort()).toEqual(['code', 'instance', 'requestId', 'status', 'title', 'type']);
    },
  );

  it('has Retry-After when nothing happened', () => {
    expect(problemResponse(unavailable(theService('store')), at)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(problemResponse(unavailable(theService('store')), { ...at, retryAfterSeconds: 4 }).headers).toEqual({ ...always, 'retry-after': '4' });
  });

  it('has WWW-Authenticate with 401', () => {
    expect(problemResponse(new CodedError('login-failed', 'No.'), at).headers).toHaveProperty('www-authenticate');
  });

  it('has Retry-After for locked logins', () => {
    expect(problemResponse(new CodedError('too-many-logins', 'Wait.', { retryAfter: 12.2 }), at)).toMatchObject({
      status: 429,
      headers: { 'retry-after': '13' },
    });
  });

  it('has the headers of an HttpError', () => {
    expect(problemResponse(new HttpError('method-not-allowed', 'No.', {}, { allow: 'GET' }), at).headers).toEqual({ ...always, allow: 'GET' });
  });
});
