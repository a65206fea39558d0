import { describe, expect, it } from '@jest/globals';
import { RawHttp, type RawRequest } from '../raw-http.js';
import { gatewayUrl } from '../shop.js';
import { fuzz } from './run.js';

/** Always the same requests; other ones by `npm run fuzz`, which takes a seed. */
const seed = 20_260_501;
const count = 2_000;

describe('what fuzzing found once', () => {
  const answerTo = async (request: RawRequest): Promise<number> => {
    const http = new RawHttp(gatewayUrl());
    try {
      return (await http.send(request, 10_000)).status;
    } finally {
      http.close();
    }
  };

  const form = ['content-type', 'application/x-www-form-urlencoded'] as const;

  it.each([
    ['an expectation that nobody knows', 200, { method: 'GET', target: '/livez', headers: [['expect', 'x']] }],
    ['an upgrade of what is passed on', 200, { method: 'GET', target: '/oauth/jwks', headers: [['upgrade', 'h2c']] }],
    ['an empty id with a method that its path lacks', 404, { method: 'DELETE', target: '/v3/images/', headers: [] }],
    ['NUL in the name of an OAuth client', 401, { method: 'POST', target: '/oauth/token', headers: [form], body: Buffer.from('grant_type=refresh_token&refresh_token=x&client_id=a%00b') }],
  ] as [string, number, RawRequest][])('is gone: %s', async (_, status, request) => {
    expect(await answerTo(request)).toBe(status);
  });
});

describe('whatever is sent', () => {
  it(
    'is answered in time, as the document says, and without a word of our inside',
    async () => {
      const { tried, operations, findings } = await fuzz({ url: gatewayUrl(), seed, count });
      process.stdout.write(`fuzz: seed ${seed}, ${operations} operations: ${tried} tried, ${findings.length} wrong\n`);
      expect(findings).toEqual([]);
      expect(tried).toBe(count);
    },
    60_000,
  );
});
