import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { HttpException, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { badField, type ProblemResponse, problemResponse } from '@plant-shop/contracts/problem';
import { CodedError } from '@plant-shop/platform/errors';
import { type BodySpec, form, jsonArray, jsonObject } from '@plant-shop/contracts/client-operation';
import { createLogger } from '@plant-shop/platform/logging';
import { until } from '@plant-shop/testing/until';
import { fastify } from 'fastify';
import { errorsOf, sendProblem, toCoded, translateFieldError } from './problem.js';

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

describe('a streamed answer', () => {
  it('is no defect if its client leaves before it begins, unlike one that fails', async () => {
    const lines: string[] = [];
    const server = fastify();
    server.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, { publicUrl: 'https://plants.example', sandbox: false, logger: createLogger('gateway', 'error', { write: (text) => lines.push(text) }) }));
    let hasLeft = false;
    server.post('/import', (_request, reply) => {
      reply.raw.on('close', () => (hasLeft = true));
      return reply.send(new Readable({ read: () => undefined }));
    });
    server.post('/fails', (_request, reply) => reply.send(new Readable({ read: (): never => { throw new Error('its disk is full'); } })));
    await server.listen({ host: '127.0.0.1', port: 0 });
    const { hostname, port } = new URL(server.listeningOrigin);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('POST /import HTTP/1.1\r\nhost: shop\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}');
    setTimeout(() => socket.destroy(), 50);
    await until(() => hasLeft);
    expect((await fetch(`${server.listeningOrigin}/fails`, { method: 'POST' })).status).toBe(500);
    expect(lines).toEqual([expect.stringContaining('its disk is full')]);
    await server.close();
  });
});
