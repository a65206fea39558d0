import { describe, expect, it } from '@jest/globals';
import { RawHttp, type RawRequest } from '../raw-http.js';
import { gatewayUrl } from '../shop.js';
import { Requests, toolTargets } from './requests.js';
import { fuzz } from './run.js';

/** Fixed, for the same requests in every run; `npm run fuzz` uses other seeds. */
const seed = 20_260_501;
const count = 2_000;

describe('a request that fuzzing found to fail', () => {
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
    ['an unknown expectation', 417, { method: 'GET', target: '/livez', headers: [['expect', 'x']] }],
    ['an upgrade of a proxied request', 200, { method: 'GET', target: '/oauth/jwks', headers: [['upgrade', 'h2c']] }],
    ['an empty id with a method that the path does not have', 404, { method: 'DELETE', target: '/v3/images/', headers: [] }],
    ['NUL in the name of an OAuth client', 401, { method: 'POST', target: '/oauth/token', headers: [form], body: Buffer.from('grant_type=refresh_token&refresh_token=x&client_id=a%00b') }],
  ] as [string, number, RawRequest][])('is answered correctly: %s', async (_, status, request) => {
    expect(await answerTo(request)).toBe(status);
  });
});

describe('every generated request', () => {
  it('can be made, also for a tool without arguments', () => {
    const requests = new Requests({ servers: [], paths: {}, components: { schemas: {}, parameters: {} } }, { none: [] });
    const [tool] = toolTargets([{ name: 'none', inputSchema: { type: 'object', properties: {} } }]);
    for (let n = 0; n < 1_000; n++) expect(requests.make(seed + n, tool!, {}).operationId).toBe('tool none');
  });

  it(
    'is answered in time, according to the OpenAPI document, and without internals',
    async () => {
      const { tried, operations, findings } = await fuzz({ url: gatewayUrl(), seed, count });
      process.stdout.write(`fuzz: seed ${seed}, ${operations} operations: ${tried} tried, ${findings.length} wrong\n`);
      expect(findings).toEqual([]);
      expect(tried).toBe(count);
    },
    60_000,
  );
});
