import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import { HttpError } from './problem.js';

// What the gateway and the stream check of every request, beyond what Node's parser does.

/** A name, an IPv4 address or an IPv6 address in brackets, and a port. Names of containers may have underscores. */
const hostForm = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Returns an error unless the request has one well-formed Host header (RFC 9112, section 3.2; HTTP/1.0 needs none), no transfer coding
 * but `chunked` (section 6.1), and no expectation but `100-continue`. The server needs `requireHostHeader: false` and
 * `expectationsAsRequests`, otherwise Node answers such requests itself, without a problem document.
 */
export function requestFaultOf({ headers, httpVersion, rawHeaders }: IncomingMessage): HttpError | undefined {
  const { host, expect, 'transfer-encoding': coding } = headers;
  if (host === undefined) {
    if (httpVersion === '1.1') return new HttpError('malformed-request', 'Send a Host header.');
  } else if (!hostForm.test(host) || isRepeated(rawHeaders)) {
    return new HttpError('malformed-request', 'Send one Host header: a name or an address, and a port.');
  }
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion !== '1.1')) {
    return new HttpError('malformed-request', 'The only Transfer-Encoding is chunked, by HTTP/1.1.', {}, { connection: 'close' });
  }
  if (expect !== undefined && httpVersion === '1.1' && expect.toLowerCase() !== '100-continue') {
    return new HttpError('expectation-failed', 'Leave the Expect header out.', {}, { connection: 'close' });
  }
  return undefined;
}

/** Lets a server's ordinary listener answer requests with an Expect header. */
export function expectationsAsRequests(server: Server): void {
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('checkContinue', (request, response) => {
    if (!requestFaultOf(request)) response.writeContinue();
    server.emit('request', request, response);
  });
}

/** Node keeps the first of several Host headers and drops the others. */
function isRepeated(rawHeaders: readonly string[]): boolean {
  let found = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') found++;
  }
  return found > 1;
}

/**
 * Returns the weight that `Accept` or `Accept-Encoding` gives (RFC 9110, section 12.4.2): of the first of the names that the header has;
 * undefined if it has none of them.
 */
export function weightOf(header: string, ...names: readonly string[]): number | undefined {
  const weights = new Map<string, number>();
  for (const one of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim());
    const weight = parameters.find((part) => /^q\s*=/.test(part))?.replace(/^q\s*=\s*/, '');
    weights.set(name, weight === undefined ? 1 : Number(weight) || 0);
  }
  for (const name of names) {
    const weight = weights.get(name);
    if (weight !== undefined) return weight;
  }
  return undefined;
}

const refusesSomething = /;\s*q\s*=\s*0/i;

/**
 * Checks that `Accept` does not refuse the type of the response. Nothing else is negotiated: each operation has one type, which the API's
 * documents name, and other types in the header do not refuse it.
 * @throws HttpError `not-acceptable`
 */
export function checkAccept({ accept }: IncomingHttpHeaders, type: string): void {
  if (accept === undefined || !refusesSomething.test(accept)) return;
  if (weightOf(accept, type, `${type.split('/', 1)[0] ?? ''}/*`, '*/*') === 0) throw new HttpError('not-acceptable', `The response is ${type}.`);
}

/**
 * Returns the content coding that the client prefers of those that the response may have, `identity` for none (RFC 9110, section 12.5.3).
 * @throws HttpError `not-acceptable`
 */
export function contentCodingFor<Coding extends string>(headers: IncomingHttpHeaders, codings: readonly Coding[]): Coding | 'identity' {
  const header = headers['accept-encoding'];
  if (typeof header !== 'string' || (codings.length === 0 && !refusesSomething.test(header))) return 'identity';
  const plain = weightOf(header, 'identity');
  let best: Coding | undefined;
  let highest = plain ?? 0;
  for (const coding of codings) {
    const weight = weightOf(header, coding, '*') ?? 0;
    // Of two that it likes the same, the first, and rather one of them than none.
    if (weight > 0 && (best === undefined ? weight >= highest : weight > highest)) [best, highest] = [coding, weight];
  }
  if (best !== undefined) return best;
  if ((plain ?? weightOf(header, '*')) === 0) {
    const others = codings.length === 0 ? '' : `, or with the Content-Encoding ${codings.join(' or ')}`;
    throw new HttpError('not-acceptable', `There is the response without a Content-Encoding${others}.`);
  }
  return 'identity';
}

/** Whether a response of this request must not be sent without a content coding. */
export const refusesIdentity = (headers: IncomingHttpHeaders): boolean => {
  const header = headers['accept-encoding'];
  return typeof header === 'string' && refusesSomething.test(header) && weightOf(header, 'identity', '*') === 0;
};
