import { HttpException, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { badField, type ProblemResponse, problemResponse } from '@plant-shop/contracts/problem';
import { CodedError } from '@plant-shop/platform/errors';
import { type BodySpec, form, jsonArray, jsonObject } from '@plant-shop/contracts/client-operation';
import { errorsOf, toCoded, translateFieldError } from './problem.js';

const problem = (error: unknown, body?: BodySpec): ProblemResponse => {
  const coded = toCoded(error);
  const at = { publicUrl: 'https://plants.example', headers: {}, requestId: 'r1', instance: '/v3/plant' };
  return problemResponse(coded, at, errorsOf(coded, body));
};
const errorsIn = ({ body }: ProblemResponse): unknown => (JSON.parse(body) as { errors?: unknown }).errors;

describe('a problem of the gateway', () => {
  it.each([new Error('password=hunter2 at /srv/app.js'), 'text', undefined])('reveals nothing about a defect', (error) => {
    const { status, body } = problem(error);
    expect(status).toBe(500);
    expect(Object.keys(JSON.parse(body) as object).sort()).toEqual(['code', 'instance', 'requestId', 'status', 'title', 'type']);
  });

  it('is made from errors of Nest and Fastify', () => {
    expect(problem(new NotFoundException('Cannot GET /x?password=1'))).toMatchObject({ status: 404, code: 'route-not-found' });
    const tooLarge = Object.assign(new Error('x'), { code: 'FST_REQ_FILE_TOO_LARGE', statusCode: 413 });
    expect(problem(new HttpException('x', 413, { cause: tooLarge }))).toMatchObject({ status: 413, code: 'payload-too-large' });
    expect(problem(Object.assign(new Error('x'), { statusCode: 400 }))).toMatchObject({ status: 400, code: 'malformed-request' });
    expect(problem(Object.assign(new Error('x'), { statusCode: 500 }))).toMatchObject({ status: 500 });
  });

  it("points into the client's request, not into the payload of the service", () => {
    const error = new CodedError('invalid-input', 'Correct it.', {
      errors: [
        { pointer: '/user/username', detail: 'must be text' },
        { pointer: '/username', detail: 'must be text of 1 to 200 characters' },
      ],
    });
    expect(errorsIn(problem(error, jsonObject('user')))).toEqual([
      { pointer: '/username', detail: 'must be text' },
      { parameter: 'username', detail: 'username must be text of 1 to 200 characters' },
    ]);
  });

  it("keeps the gateway's own pointers", () => {
    expect(errorsIn(problem(badField('/order/x', 'must go'), jsonObject('order')))).toEqual([{ pointer: '/order/x', detail: 'must go' }]);
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
