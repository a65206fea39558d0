import { Webhook } from 'standardwebhooks';
import type { WebhookEvent } from './generated/events.js';

export type { WebhookEvent } from './generated/events.js';

/** Why a delivery was refused. */
export type WebhookFault =
  /** A header of Standard Webhooks is missing or malformed. */
  | 'headers'
  /** A secret does not have the form of the shop's secrets. */
  | 'secret'
  /** None of the secrets has signed these bytes. */
  | 'signature'
  /** It was signed too long ago: a replay, or this machine's clock is fast. */
  | 'too-old'
  /** It was signed in the future: this machine's clock is slow. */
  | 'too-new'
  /** It is signed, but not JSON. */
  | 'body';

export class WebhookRefused extends Error {
  constructor(
    readonly fault: WebhookFault,
    message: string,
    /** This machine's time minus the time of the signature, in seconds. */
    readonly ageSeconds?: number,
  ) {
    super(message);
    this.name = 'WebhookRefused';
  }
}

export interface VerifiedWebhook {
  /** The event's id. An event may be delivered more than once: handle each id once. */
  readonly id: string;
  readonly sentAt: Date;
  readonly event: WebhookEvent;
}

export interface VerifyOptions {
  /** How old, or how far in the future, a signature may be. Default: 300. */
  readonly toleranceSeconds?: number;
  /** Milliseconds since the epoch. Default: the current time. */
  readonly now?: number;
}

type HeaderSource = { get(name: string): string | null } | ReadonlyMap<string, HeaderValue> | Readonly<Record<string, HeaderValue>>;
type HeaderValue = string | readonly string[] | undefined;

/**
 * Checks that a delivery was signed by the shop, and returns its event.
 *
 * @param headers with names in any case; a value may be a list
 * @param body the received bytes: parsed and serialised again they would differ
 * @param secrets the endpoint's secret; during a rotation, the old and the new one. Empty ones are ignored beside others.
 * @throws WebhookRefused
 */
export function verifyWebhook(headers: HeaderSource, body: string | Uint8Array, secrets: string | readonly string[], { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {}): VerifiedWebhook {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headerOf(headers, name));
  if (!id || !timestamp || !signatures) throw new WebhookRefused('headers', 'It must have the headers webhook-id, webhook-timestamp and webhook-signature.');
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookRefused('headers', `webhook-timestamp is not a number of seconds: ${timestamp}`);
  const seconds = Number(timestamp);
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const given = signatures.split(' ').filter((one) => one.startsWith('v1,'));
  const all = [secrets].flat();
  const present = all.filter(Boolean);
  const wanted = (present.length > 0 ? present : all).map((secret) => signed(secret, id, seconds, text));
  // Compares all signatures completely, so that the duration does not reveal where they differ.
  const matches = wanted.flatMap((one) => given.filter((other) => one !== undefined && isEqual(one, other)));
  if (matches.length === 0 && wanted.includes(undefined)) throw malformedSecret();
  if (matches.length === 0) throw new WebhookRefused('signature', 'It was signed with another secret, or changed in transit.');
  const ageSeconds = now / 1_000 - seconds;
  if (ageSeconds > toleranceSeconds) throw new WebhookRefused('too-old', `It was signed ${Math.round(ageSeconds)} s ago. Check the clock of this machine.`, ageSeconds);
  if (ageSeconds < -toleranceSeconds) throw new WebhookRefused('too-new', `It was signed ${Math.round(-ageSeconds)} s in the future. Check the clock of this machine.`, ageSeconds);
  return { id, sentAt: new Date(seconds * 1_000), event: parsed(text) };
}

/** What a test sends to its own receiver. */
export interface TestWebhook {
  /** The body to send, exactly as it is sent. */
  readonly payload: string;
  /** As the shop returns it with a webhook; for a test, any `whsec_` followed by base64. */
  readonly secret: string;
  /** The event's id. Default: a random UUID. */
  readonly id?: string;
  /** The time of signing, in seconds since 1970. Default: the current time. */
  readonly timestamp?: number;
}

/**
 * Returns the headers of a delivery that `verifyWebhook` accepts, to test a receiver without a shop.
 *
 * @throws WebhookRefused for a malformed secret
 */
export function signTestWebhook({ payload, secret, id = globalThis.crypto.randomUUID(), timestamp = Math.floor(Date.now() / 1_000) }: TestWebhook): SignedHeaders {
  const signature = signed(secret, id, timestamp, payload);
  if (signature === undefined) throw malformedSecret();
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
}

export type SignedHeaders = Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>>;

const malformedSecret = (): WebhookRefused => new WebhookRefused('secret', 'A secret of the shop begins with whsec_, followed by base64.');

function headerOf(headers: HeaderSource, name: string): string | undefined {
  if (typeof headers.get === 'function' && !(headers instanceof Map)) return (headers as Headers).get(name) ?? undefined;
  const entries = headers instanceof Map ? [...(headers as ReadonlyMap<string, HeaderValue>)] : Object.entries(headers as Record<string, HeaderValue>);
  return entries.flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : [])).join(' ');
}

/** Returns undefined for a malformed secret. */
function signed(secret: string, id: string, seconds: number, text: string): string | undefined {
  try {
    return new Webhook(secret).sign(id, new Date(seconds * 1_000), text);
  } catch {
    return undefined;
  }
}

function isEqual(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < one.length; index += 1) difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}

function parsed(text: string): WebhookEvent {
  try {
    return JSON.parse(text) as WebhookEvent;
  } catch {
    throw new WebhookRefused('body', 'The body is not JSON.');
  }
}
