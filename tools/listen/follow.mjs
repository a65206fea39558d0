import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';

/** A permanent refusal: the stream does not accept the key or the cursor. */
export class Refused extends Error {}

/** The stream's close codes, from its AsyncAPI document. */
const closings = /** @type {Record<number, { why: string, then: 'give up' | 'at once' | 'later' }>} */ ({
  4001: { why: 'The key is no longer valid: it was revoked, it expired, or its user was deleted.', then: 'give up' },
  4003: { why: 'The key may not see order events.', then: 'give up' },
  4100: { why: 'the stream is overloaded', then: 'later' },
  4101: { why: 'this client reads too slowly', then: 'later' },
  4200: { why: 'this replica moves its clients to others', then: 'at once' },
  4201: { why: 'the key expires', then: 'at once' },
});

const FIRST_PAUSE_MS = 250;
const LATER_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;
/** A connection that lasted this long was healthy, which resets the backoff. */
const HEALTHY_AFTER_MS = 5_000;
/** The stream pings every 25 s: a connection that is silent for this long is dead. */
const SILENCE_MS = 60_000;

/**
 * @typedef {object} Following
 * @property {URL} url
 * @property {string} key
 * @property {string} cursor `latest`, `earliest`, or the cursor of the last event received
 * @property {(frame: import('./event-line.mjs').Event, text: string) => void} onFrame
 * @property {(state: string) => void} onState status messages
 * @property {number} [silenceMs]
 */

/**
 * Passes on every event after `cursor`, in order, and reconnects until `signal` aborts.
 * @param {Following} following
 * @param {AbortSignal} signal
 * @throws {Refused}
 */
export async function follow({ url, key, cursor, onFrame, onState, silenceMs = SILENCE_MS }, signal) {
  let position = cursor;
  for (let tries = 0; !signal.aborted; tries += 1) {
    const begun = performance.now();
    const end = await once();
    if (signal.aborted) return;
    if (performance.now() - begun > HEALTHY_AFTER_MS) tries = 0;
    const ownMs = end.then === 'at once' && tries === 0 ? 0 : growing(end.then === 'later' ? LATER_MS : FIRST_PAUSE_MS, tries);
    // The stream gives each client a different delay, so that clients closed together do not reconnect together.
    const pauseMs = Math.max(end.advisedMs ?? 0, tries === 0 && end.advisedMs !== undefined ? 0 : ownMs);
    onState(`${url.host}: ${end.why}; reconnecting ${pauseMs < 1_000 ? 'at once' : `in ${Math.round(pauseMs / 1_000)} s`}`);
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }

  /** @returns {Promise<{ why: string, then: 'at once' | 'soon' | 'later', advisedMs?: number | undefined }>} */
  async function once() {
    try {
      position = await enter({ url, key, cursor: position }, signal);
      const { code, reason } = await connected({ url, key, cursor: position, silenceMs }, signal, {
        onOpen: () => onState(`${url.host}: connected`),
        onText: (text) => {
          const frame = /** @type {import('./event-line.mjs').Event} */ (JSON.parse(text));
          position = frame.cursor ?? position;
          onFrame(frame, text);
        },
      });
      const closing = closings[code];
      if (closing?.then === 'give up') throw new Refused(closing.why);
      if (closing) return { why: closing.why, then: closing.then, advisedMs: adviceOf(reason) };
      return { why: reason || `the connection ended (${code})`, then: 'soon' };
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return { why: error.message, then: 'soon', advisedMs: error.retryAfterMs };
    }
  }
}

/** Returns the reconnect delay in a close reason, in milliseconds. @param {string} reason */
function adviceOf(reason) {
  const [, ms] = /(?:^|; )reconnect-after-ms=(\d{1,9})$/.exec(reason) ?? [];
  return ms === undefined ? undefined : Number(ms);
}

/** @param {number} firstMs @param {number} tries */
function growing(firstMs, tries) {
  const longest = Math.min(firstMs * 2 ** tries, LONGEST_PAUSE_MS);
  return longest * (0.5 + Math.random() / 2);
}

/** A temporary failure. */
class Unavailable extends Error {
  /** @param {string} message @param {number} [retryAfterMs] from the response */
  constructor(message, retryAfterMs) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Requests a page before each connection, since a WebSocket client does not learn why it was refused. Replaces `latest` with the
 * current cursor, so that a connection that ends before its first event misses none.
 * @param {Pick<Following, 'url' | 'key' | 'cursor'>} following
 * @param {AbortSignal} signal
 * @returns {Promise<string>} the cursor to connect with
 */
async function enter({ url, key, cursor }, signal) {
  const page = new URL(url.href.replace(/^ws/, 'http'));
  page.searchParams.set('cursor', cursor);
  page.searchParams.set('limit', '1');
  const headers = { api_key: key, accept: 'application/json' };
  const response = await fetch(page, { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]) }).catch((error) => {
    throw new Unavailable(`unreachable (${error.cause?.code ?? error.message})`);
  });
  const body = /** @type {{ cursor: string, detail?: string }} */ (await response.json().catch(() => ({})));
  if (response.ok) return cursor === 'latest' ? body.cursor : cursor;
  if (response.status === 401) throw new Refused(`The key was refused. ${body.detail ?? ''}`.trim());
  if (response.status < 500 && response.status !== 429) throw new Refused(body.detail ?? `${page.origin}${page.pathname} responds with ${response.status}.`);
  const seconds = response.headers.get('retry-after');
  throw new Unavailable(`it responds with ${response.status}`, seconds !== null && /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1_000 : undefined);
}

/**
 * Opens one connection and resolves when it has ended.
 * @param {Required<Pick<Following, 'url' | 'key' | 'cursor' | 'silenceMs'>>} following
 * @param {AbortSignal} signal
 * @param {{ onOpen: () => void, onText: (text: string) => void }} handlers
 * @returns {Promise<{ code: number, reason: string }>}
 */
function connected({ url, key, cursor, silenceMs }, signal, { onOpen, onText }) {
  const address = new URL(url);
  // WebSocket clients cannot send headers.
  address.searchParams.set('api_key', key);
  address.searchParams.set('cursor', cursor);
  const socket = new WebSocket(address);
  return new Promise((resolve, reject) => {
    /** @param {{ code: number, reason: string }} how */
    const end = (how) => {
      clearTimeout(silence);
      signal.removeEventListener('abort', stop);
      unsubscribe('undici:websocket:ping', alive);
      socket.close();
      resolve(how);
    };
    const silence = setTimeout(() => end({ code: 1006, reason: 'no sign of life' }), silenceMs);
    const alive = () => void silence.refresh();
    const stop = () => end({ code: 1000, reason: 'stopped' });
    signal.addEventListener('abort', stop);
    subscribe('undici:websocket:ping', alive);
    socket.onopen = onOpen;
    socket.onmessage = ({ data }) => {
      alive();
      try {
        if (!signal.aborted) onText(data);
      } catch (error) {
        reject(error);
        end({ code: 1000, reason: '' });
      }
    };
    // `close` follows and gives the reason.
    socket.onerror = () => {};
    socket.onclose = ({ code, reason }) => end({ code, reason });
  });
}
