import { HttpException, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { domainCodes } from '@plant-shop/contracts/errors';
import { CodedError, platformCodes, unavailable } from '@plant-shop/platform/errors';
import { form, jsonArray, jsonObject } from '../http/route.js';
import { translateFieldError, problemOf } from './problem.js';
import { isProblemCode, problemTable } from './problem-table.js';
import { badField, HttpError } from './http-error.js';

const at = { publicUrl: 'https://plants.example', requestId: 'r1', instance: '/v3/plant', body: undefined };
const bodyOf = (error: unknown, occurrence = {}): Record<string, unknown> =>
  JSON.parse(problemOf(error, { ...at, ...occurrence }).body) as Record<string, unknown>;

describe('the problem table', () => {
  it('has an error status for every code that a service may answer with', () => {
    for (const code of [...domainCodes, ...platformCodes]) {
      expect(isProblemCode(code)).toBe(true);
      expect(problemTable[code].status).toBeGreaterThanOrEqual(400);
    }
  });

  it('uses 500 only for defects', () => {
    const defects = Object.entries(problemTable).filter(([, { status }]) => status === 500).map(([code]) => code);
    expect(defects.sort()).toEqual(['internal', 'malformed-frame']);
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

  it.each([new Error('password=hunter2 at /srv/app.js'), new CodedError('internal', 'SELECT 1', { sql: 'x' }), 'text', undefined, new CodedError('made-up', 'hunter2')])(
    'reveals nothing about a defect',
    (error) => {
      const problem = problemOf(error, at);
      expect(problem.status).toBe(500);
      expect(Object.keys(JSON.parse(problem.body) as object).sort()).toEqual(['code', 'instance', 'requestId', 'status', 'title', 'type']);
    },
  );

  it('has Retry-After when nothing happened', () => {
    expect(problemOf(unavailable('store'), at)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  });

  it('has WWW-Authenticate with 401', () => {
    expect(problemOf(new CodedError('login-failed', 'No.'), at).headers).toHaveProperty('www-authenticate');
  });

  it('has Retry-After for locked logins', () => {
    expect(problemOf(new CodedError('too-many-logins', 'Wait.', { retryAfter: 12.2 }), at)).toMatchObject({
      status: 429,
      headers: { 'retry-after': '13' },
    });
  });

  it('is made from errors of Nest and Fastify', () => {
    expect(problemOf(new NotFoundException('Cannot GET /x?password=1'), at)).toMatchObject({ status: 404, code: 'route-not-found' });
    const tooLarge = Object.assign(new Error('x'), { code: 'FST_REQ_FILE_TOO_LARGE', statusCode: 413 });
    expect(problemOf(new HttpException('x', 413, { cause: tooLarge }), at)).toMatchObject({ status: 413, code: 'payload-too-large' });
    expect(problemOf(Object.assign(new Error('x'), { statusCode: 400 }), at)).toMatchObject({ status: 400, code: 'malformed-request' });
    expect(problemOf(Object.assign(new Error('x'), { statusCode: 500 }), at)).toMatchObject({ status: 500 });
  });

  it("points into the client's request, not into the payload of the service", () => {
    const error = new CodedError('invalid-input', 'Correct it.', {
      errors: [
        { pointer: '/user/username', detail: 'must be text' },
        { pointer: '/username', detail: 'must be text of 1 to 200 characters' },
      ],
    });
    expect(bodyOf(error, { body: jsonObject('user') })['errors']).toEqual([
      { pointer: '/username', detail: 'must be text' },
      { parameter: 'username', detail: 'username must be text of 1 to 200 characters' },
    ]);
  });

  it("keeps the gateway's own pointers", () => {
    expect(bodyOf(badField('/order/x', 'must go'), { body: jsonObject('order') })['errors']).toEqual([
      { pointer: '/order/x', detail: 'must go' },
    ]);
  });

  it('has the headers of an HttpError', () => {
    expect(problemOf(new HttpError('method-not-allowed', 'No.', {}, { allow: 'GET' }), at).headers).toEqual({ allow: 'GET' });
  });
});

describe("a service's pointer", () => {
  const translated = (pointer: string, body: Parameters<typeof translateFieldError>[1]): object => translateFieldError({ pointer, detail: 'must' }, body);

  it.each<[string, Parameters<typeof translateFieldError>[1], object]>([
    ['/order/quantity', jsonObject('order'), { pointer: '/quantity', detail: 'must' }],
    ['/order', jsonObject('order'), { pointer: '', detail: 'must' }],
    ['/orders/x', jsonObject('order'), { parameter: 'orders', detail: 'orders must' }],
    ['/users/3/username', jsonArray('users'), { pointer: '/3/username', detail: 'must' }],
    ['/users', jsonArray('users'), { pointer: '', detail: 'must' }],
    ['/name', form('name', 'status'), { pointer: '/name', detail: 'must' }],
    ['/plantId', form('name', 'status'), { parameter: 'plantId', detail: 'plantId must' }],
    ['/limit', undefined, { parameter: 'limit', detail: 'limit must' }],
    ['', undefined, { pointer: '', detail: 'must' }],
  ])("%s becomes a place in the client's request", (pointer, body, expected) => {
    expect(translated(pointer, body)).toEqual(expected);
  });
});
