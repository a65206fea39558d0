import { expect } from '@jest/globals';
import { contentOf, type Credentials, request, type RequestOptions } from '@plant-shop/testing/http';
import { until as poll } from '@plant-shop/testing/until';
import { type Document, DocumentJudge } from './document.js';

// These tests know only what a client knows about the shop: its address, the demo credentials and HTTP.

export const setting = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is missing: run npm test, which starts a shop for these tests.`);
  return value;
};

export const gatewayUrl = (): string => setting('GATEWAY_URL');

/** The API key of the demo data; it has every permission. */
export const staff: Credentials = { apiKey: 'special-key' };

export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** By the shop's address: files that run in one process share this module, and a file may start a shop of its own. */
const judges = new Map<string, Promise<DocumentJudge>>();

function judgeOf(url: string): Promise<DocumentJudge> {
  const judge = judges.get(url) ?? readDocument(url);
  judges.set(url, judge);
  return judge;
}

const readDocument = async (url: string): Promise<DocumentJudge> => new DocumentJudge((await (await fetch(`${url}/v3/openapi.json`)).json()) as Document);

/**
 * Sends a request. The returned body is parsed JSON, or text for other types. Fails if the answer does not conform to the
 * OpenAPI document.
 */
export async function send<Body = unknown>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<Body>> {
  return (await checked(method, path, await request(method, gatewayUrl() + path, options))) as Answer<Body>;
}

/** Reads an answer. Fails if it does not conform to the OpenAPI document. */
export async function checked(method: string, path: string, response: Response): Promise<Answer<unknown>> {
  const { text, json } = await contentOf(response);
  expect(response.headers.get('x-request-id')).toMatch(/^[\w.-]{1,128}$/);
  const answer = { status: response.status, headers: response.headers, body: json === undefined ? text : json };
  const { pathname } = new URL(path, gatewayUrl());
  const faults = (await judgeOf(gatewayUrl())).faultsOf(method, pathname, answer);
  expect({ request: `${method} ${pathname}`, faults }).toEqual({ request: `${method} ${pathname}`, faults: [] });
  return answer;
}

/** Returns the body of a 200; throws for any other status, with the body in the message. */
export async function ok<Body>(answer: Promise<Answer<Body>>): Promise<Body> {
  const { status, body } = await answer;
  if (status !== 200) throw new Error(`expected 200, got ${status}: ${JSON.stringify(body)}`);
  return body;
}

export interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  readonly errors?: { pointer: string; detail: string }[];
  readonly [member: string]: unknown;
}

/** Expects a complete problem (RFC 9457) without internals. @returns its body */
export async function problem(answer: Promise<Answer<unknown>>, status: number, code: string): Promise<Problem> {
  const { status: actual, headers, body } = await answer;
  expect({ status: actual, body }).toMatchObject({ status, body: { code, status } });
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
/** A unique name, also across runs on the same data. */
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
  placedAt: string;
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

/** Registers a user and logs in. */
export async function newCustomer(): Promise<Customer> {
  const user = { username: fresh('user'), password: 'a long enough password' };
  await ok(send('POST', '/v3/user', { json: user }));
  return { ...user, bearer: await login(user.username, user.password) };
}

/** Sends a login. @returns the answer, whose message is the session token */
export const sendLogin = (username: string, password: string, as?: Credentials): Promise<Answer<{ message: string }>> =>
  send('GET', `/v3/user/login?${new URLSearchParams({ username, password }).toString()}`, { ...(as && { as }) });

/** Logs in. @returns the session token */
export const login = async (username: string, password: string): Promise<string> => (await ok(sendLogin(username, password))).message;

/** Polls a condition every 50 ms. Throws if it is still false after `limitMs`. */
export const until = (condition: () => Promise<boolean>, limitMs = 15_000): Promise<void> => poll(condition, limitMs, 50);
