import { connect, type Socket } from 'node:net';

/** Opens a connection and sends a text. Returns the socket, and all that the server sends until the connection is closed. */
export function exchange(port: number, text: string): { readonly socket: Socket; readonly received: Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  const received = new Promise<string>((resolve, reject) => {
    let all = '';
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no end after: ${all}`)));
    socket.on('data', (bytes: Buffer) => (all += bytes.toString('latin1')));
    socket.on('error', reject);
    socket.on('close', () => resolve(all));
  });
  socket.write(text, 'latin1');
  return { socket, received };
}

/**
 * Requests that two servers in a row could read differently (request smuggling), or that RFC 9112 has refused, with the status that each
 * port answers. Lines are those after the request line, which ends with `version`.
 */
const faults: readonly (readonly [what: string, status: number, lines: readonly string[], version?: string])[] = [
  ['two lengths', 400, ['Host: x', 'Content-Length: 1', 'Content-Length: 2']],
  ['the same length twice', 400, ['Host: x', 'Content-Length: 2', 'Content-Length: 2']],
  ['a list of lengths', 400, ['Host: x', 'Content-Length: 2, 2']],
  ['a length with a sign', 400, ['Host: x', 'Content-Length: +2']],
  ['a negative length', 400, ['Host: x', 'Content-Length: -2']],
  ['a hexadecimal length', 400, ['Host: x', 'Content-Length: 0x2']],
  ['a length beyond 64 bits', 400, ['Host: x', 'Content-Length: 99999999999999999999']],
  ['a length and chunks', 400, ['Host: x', 'Content-Length: 2', 'Transfer-Encoding: chunked']],
  ['chunks and a length', 400, ['Host: x', 'Transfer-Encoding: chunked', 'Content-Length: 2']],
  ['chunked twice', 400, ['Host: x', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
  ['a second coding', 400, ['Host: x', 'Transfer-Encoding: gzip, chunked']],
  ['chunked, but not at the end', 400, ['Host: x', 'Transfer-Encoding: chunked, identity']],
  ['an unknown coding', 400, ['Host: x', 'Transfer-Encoding: xchunked']],
  ['a coding after a vertical tab', 400, ['Host: x', 'Transfer-Encoding: \x0bchunked']],
  ['a space before the colon', 400, ['Host: x', 'Transfer-Encoding : chunked']],
  ['a folded line', 400, ['Host: x', 'X: a', ' b']],
  ['a folded line with a coding', 400, ['Host: x', 'X: a', '\tTransfer-Encoding: chunked']],
  ['a space before the first header', 400, [' Host: x']],
  ['a line break of one character', 400, ['Host: x', 'X: a\nTransfer-Encoding: chunked']],
  ['a carriage return within a header', 400, ['Host: x', 'X: a\rTransfer-Encoding: chunked']],
  ['a NUL within a header', 400, ['Host: x', 'X: a\0b']],
  ['a header without a name', 400, ['Host: x', ': b']],
  ['a header without a colon', 400, ['Host: x', 'X']],
  ['chunks by HTTP/1.0', 400, ['Host: x', 'Transfer-Encoding: chunked'], 'HTTP/1.0'],
  ['another protocol', 400, ['Host: x'], 'HTTPS/1.1'],
  ['another version', 400, ['Host: x'], 'HTTP/3.1'],
  ['no host', 400, []],
  ['an empty host', 400, ['Host:']],
  ['two hosts', 400, ['Host: x', 'Host: y']],
  ['the same host twice', 400, ['Host: x', 'hOST: x']],
  ['a list of hosts', 400, ['Host: x, y']],
  ['a host with a path', 400, ['Host: x/y']],
  ['a host with a user', 400, ['Host: a@x']],
  ['a host with a space', 400, ['Host: x y']],
  ['a host with a wrong port', 400, ['Host: x:y']],
  ['a host that is a URL', 400, ['Host: http://x']],
  ['half of an address', 400, ['Host: [::1']],
  ['an unknown expectation', 417, ['Host: x', 'Expect: x']],
  ['a second expectation', 417, ['Host: x', 'Expect: 100-continue, x']],
];

/** The faults as requests for a path, each followed by another request that nobody may answer. */
export const faultyRequests = (path: string): (readonly [what: string, status: number, text: string])[] =>
  faults.map(([what, status, lines, version = 'HTTP/1.1']) => [
    what,
    status,
    `GET ${path} ${version}\r\n${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`,
  ]);

/** Hosts that a request may name. */
export const goodHosts: readonly string[] = ['x', 'x:8080', 'shop.example', 'SHOP-1.example.', 'shop_gateway:80', '127.0.0.1:8080', '[::1]', '[::1]:8080'];
