import { expect } from '@jest/globals';
import { type Document, DocumentJudge } from './document.js';

// Everything that these tests know of the shop is what a client knows: its address, the demo credentials and HTTP.

export const setting = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is missing: run npm test, which starts a shop for these tests.`);
  return value;
};

export const gatewayUrl = (): string => setting('GATEWAY_URL');

/** How a request shows who it is from; several add up. */
export interface Credentials {
  readonly apiKey?: string;
  readonly bearer?: string;
  readonly sessionToken?: string;
}

/** The demo data's key with every permission. */
export const staff: Credentials = { apiKey: 'special-key' };

export type RequestBody = NonNullable<RequestInit['body']>;

export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

interface Options {
  readonly as?: Credentials;
  readonly json?: unknown;
  readonly form?: Record<string, string>;
  readonly body?: RequestBody;
  readonly headers?: Record<string, string>;
}

let judge: Promise<DocumentJudge> | undefined;
const readDocument = async (): Promise<DocumentJudge> =>
  new DocumentJudge((await (await fetch(`${gatewayUrl()}/v3/openapi.json`)).json()) as Document);

/**
 * One request. The body is parsed when it is JSON, else it is its text. Whatever comes must be what the OpenAPI document
 * says of the operation.
 */
export async function send<Body = unknown>(method: string, path: string, options: Options = {}): Promise<Answer<Body>> {
  const { as = {}, json, form, body, headers = {} } = options;
  const response = await fetch(gatewayUrl() + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(as.apiKey !== undefined && { api_key: as.apiKey }),
      ...(as.bearer !== undefined && { authorization: `Bearer ${as.bearer}` }),
      ...(as.sessionToken !== undefined && { session_token: as.sessionToken }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(form !== undefined && { body: new URLSearchParams(form).toString() }),
    ...(body !== undefined && { body }),
  });
  return (await checked(method, path, response)) as Answer<Body>;
}

/** The whole answer, which must be what the OpenAPI document says of the operation. */
export async function checked(method: string, path: string, response: Response): Promise<Answer<unknown>> {
  const text = await response.text();
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
  expect(response.headers.get('x-request-id')).toMatch(/^[\w.-]{1,128}$/);
  const answer = { status: response.status, headers: response.headers, body: isJson ? (JSON.parse(text) as unknown) : text };
  const { pathname } = new URL(path, gatewayUrl());
  const faults = (await (judge ??= readDocument())).faultsOf(method, pathname, answer);
  expect({ request: `${method} ${pathname}`, faults }).toEqual({ request: `${method} ${pathname}`, faults: [] });
  return answer;
}

/** A success: 200 with the body. Anything else fails with what came instead. */
export async function ok<Body>(answer: Promise<Answer<Body>>): Promise<Body> {
  const { status, body } = await answer;
  if (status !== 200) throw new Error(`200 was expected, ${status} came: ${JSON.stringify(body)}`);
  return body;
}

export interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  readonly errors?: { pointer: string; detail: string }[];
  readonly [member: string]: unknown;
}

/** A refusal as RFC 9457 wants it, complete and with nothing of our inside in it. */
export async function problem(answer: Promise<Answer<unknown>>, status: number, code: string): Promise<Problem> {
  const { status: got, headers, body } = await answer;
  expect({ status: got, body }).toMatchObject({ status, body: { code, status } });
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(body).toMatchObject({
    type: expect.stringContaining(`/problems/${code}`),
    title: expect.any(String),
    detail: expect.any(String),
    instance: expect.stringMatching(/^\/[^?]*$/),
    requestId: headers.get('x-request-id'),
  });
  expect(JSON.stringify(body)).not.toMatch(/SELECT |INSERT |node_modules|\bat .*\.[jt]s:\d/);
  return body as Problem;
}

let names = 0;
/** A name that no earlier run on the same data used. */
export const fresh = (what: string): string => `${what}-${Date.now().toString(36)}-${process.pid}-${++names}`;

export interface Plant {
  id: number;
  name: string;
  category?: { id?: number; name?: string };
  photoUrls: string[];
  tags: { id: number; name: string }[];
  status: string;
}

export interface Order {
  id: number;
  plantId: number;
  quantity: number;
  shipDate?: string;
  status: string;
  complete: boolean;
}

export const createPlant = (plant: Record<string, unknown> = {}): Promise<Plant> =>
  ok(send<Plant>('POST', '/v3/plant', { as: staff, json: { name: 'Monstera', photoUrls: [], ...plant } }));

export const placeOrder = (order: Record<string, unknown>, as: Credentials = staff): Promise<Order> =>
  ok(send<Order>('POST', '/v3/store/order', { as, json: order }));

export interface Customer extends Credentials {
  readonly username: string;
  readonly password: string;
  readonly bearer: string;
}

/** A new user, logged in. */
export async function newCustomer(): Promise<Customer> {
  const user = { username: fresh('user'), password: 'a long enough password' };
  await ok(send('POST', '/v3/user', { json: user }));
  return { ...user, bearer: await login(user.username, user.password) };
}

/** The session token. */
export async function login(username: string, password: string): Promise<string> {
  const query = new URLSearchParams({ username, password }).toString();
  const { message } = await ok(send<{ message: string }>('GET', `/v3/user/login?${query}`));
  return message;
}

/** Polls for what comes about by itself; never sleeps for a guess. */
export async function until(condition: () => Promise<boolean>, limitMs = 15_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`it did not come about within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
