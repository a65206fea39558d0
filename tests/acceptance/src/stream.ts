import { request } from 'node:http';
import type { Credentials } from '@plant-shop/testing/http';
import { faultsAt } from './document.js';
import { gatewayUrl, setting, staff, until } from './shop.js';

export const streamUrl = (): string => setting('STREAM_URL');

export type Query = Readonly<Record<string, string | number>>;

/** An event in the specification's format; resumable streams add `id` and `cursor`. */
export interface Frame {
  readonly id?: string;
  readonly cursor?: string;
  readonly event: string;
  readonly timestamp: string;
  readonly data: {
    readonly orderId: number;
    readonly plantId: number;
    readonly previousStatus: string;
    readonly newStatus: string;
    readonly trackingNumber: string;
  };
}

const address = (scheme: 'ws' | 'http', query: Query): URL => {
  const url = new URL(`${streamUrl().replace(/^ws/, scheme)}/v1/orders/updates`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url;
};

/** A WebSocket that records its frames. */
export class Subscription {
  readonly texts: string[] = [];
  /** Close code and time, when the socket is closed. */
  closed: { readonly code: number; readonly at: number } | undefined;

  private constructor(private readonly socket: WebSocket) {
    socket.onmessage = ({ data }) => this.texts.push(data as string);
    socket.onclose = ({ code }) => (this.closed = { code, at: performance.now() });
  }

  static async open(query: Query = {}, { apiKey = '' }: Credentials = staff): Promise<Subscription> {
    const socket = new WebSocket(address('ws', { api_key: apiKey, ...query }));
    const subscription = new Subscription(socket);
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = () => reject(new Error('the stream did not open'));
    });
    return subscription;
  }

  get frames(): readonly Frame[] {
    return this.texts.map((text) => JSON.parse(text) as Frame);
  }

  /** Waits for `count` frames of an order. @returns all of them */
  async of(orderId: number, count: number, limitMs?: number): Promise<readonly Frame[]> {
    const own = (): readonly Frame[] => this.frames.filter(({ data }) => data.orderId === orderId);
    await until(async () => own().length >= count, limitMs);
    return own();
  }

  close(): void {
    this.socket.close();
  }
}

/** Status of the answer to an upgrade request, which WebSocket clients do not expose. */
export function statusOfUpgrade(query: Query, headers: Record<string, string> = {}): Promise<number> {
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.from('sixteen bytes...').toString('base64'),
  };
  return new Promise((resolve, reject) => {
    const upgrading = request(address('http', query), { headers: { ...upgrade, ...headers } });
    upgrading.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response.statusCode ?? 0);
    });
    upgrading.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    upgrading.on('error', reject);
    upgrading.end();
  });
}

export interface PageOfEvents {
  readonly events: readonly Required<Frame>[];
  readonly cursor: string;
}

/** Reads a page of events by plain HTTP. */
export async function pageOfEvents(query: Query = {}, { apiKey = '' }: Credentials = staff): Promise<{ status: number; text: string; body: PageOfEvents }> {
  const response = await fetch(address('http', query), { headers: { api_key: apiKey, accept: 'application/json' } });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) as PageOfEvents };
}

/** Reads Server-Sent Events until there are at least `count`. */
export async function sentEvents(count: number, headers: Record<string, string> = {}, query: Query = {}): Promise<readonly { id: string; data: string }[]> {
  const end = new AbortController();
  const response = await fetch(address('http', query), {
    headers: { api_key: 'special-key', accept: 'text/event-stream', ...headers },
    signal: end.signal,
  });
  const events: { id: string; data: string }[] = [];
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of response.body!) {
    const blocks = (rest + decoder.decode(part, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
      if (fields.has('data')) events.push({ id: fields.get('id') ?? '', data: fields.get('data') ?? '' });
    }
    if (events.length >= count) break;
  }
  end.abort();
  return events;
}

/** Validates the body of a webhook against the OpenAPI document's `webhooks` and the AsyncAPI document. @returns the errors */
export async function faultsOfEvent(text: string): Promise<string[]> {
  const event = JSON.parse(text) as { event: string };
  const [openApi, asyncApi] = await Promise.all([`${gatewayUrl()}/v3/openapi.json`, `${streamUrl().replace(/^ws/, 'http')}/v1/asyncapi.json`].map(async (url) =>
    (await (await fetch(url)).json()) as { components: { messages: Record<string, { name: string; payload: { $ref: string } }> } }));
  const [, message] = Object.entries(asyncApi!.components.messages).find(([key, { name }]) => key.startsWith('webhook') && name === event.event) ?? [];
  return [
    ...faultsAt(openApi!, `/webhooks/${event.event}/post/requestBody/content/application~1json/schema`, event),
    ...faultsAt(asyncApi!, message?.payload.$ref.slice(1) ?? '/nowhere', event),
  ];
}
