import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { problemTable } from '@plant-shop/contracts/problem-table';
import { type Shop, startShop } from '../gateway.spec.fixture.js';

describe('the HTML pages', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop();
  });
  afterAll(() => shop.stop());

  const read = async (path: string) => {
    const response = await shop.get(path);
    return { response, text: await response.text() };
  };
  /** Paths of a page's links and files, as a browser resolves them. */
  const addressesIn = (html: string, page: string): string[] =>
    [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, address = '']) => new URL(address, `http://shop${page}`).pathname);

  it('/docs loads only files of the gateway and no inline scripts, and its policy forbids others', async () => {
    const { response, text } = await read('/docs');
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(text).not.toMatch(/https?:|<script>|\son\w+=/);
    const files = addressesIn(text, '/docs');
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      const answer = await read(file);
      expect({ file, status: answer.response.status }).toEqual({ file, status: 200 });
      expect(answer.text.length).toBeGreaterThan(100);
      expect(answer.response.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('/docs/ redirects to /docs at the address where it was opened', async () => {
    const { response } = await read('/docs/?a=b');
    expect(response.status).toBe(308);
    expect(new URL(response.headers.get('location') ?? '', 'http://localhost:1234/docs/').href).toBe('http://localhost:1234/docs');
  });

  it('/v3 answers the same overview as /', async () => {
    const { response, text } = await read('/v3');
    expect(response.status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ api: expect.stringMatching(/\/v3$/), reference: expect.stringMatching(/\/docs$/) });
    expect(text).toBe((await read('/')).text);
  });

  it('"Authorize" is filled in with the OAuth client of the settings, if there is one (slow)', async () => {
    expect((await read('/docs/docs.js')).text).toContain('.initOAuth({"usePkceWithAuthorizationCodeGrant":true});');
    const other = await startShop({}, { docsOAuthClient: 'plant-docs' });
    try {
      const script = await other.get('/docs/docs.js');
      expect(await script.text()).toContain('.initOAuth({"usePkceWithAuthorizationCodeGrant":true,"clientId":"plant-docs"});');
      expect(script.headers.get('etag')).not.toBe((await read('/docs/docs.js')).response.headers.get('etag'));
    } finally {
      await other.stop();
    }
  });

  it('serves the page that OAuth logins return to', async () => {
    const { response, text } = await read('/docs/oauth2-redirect.html');
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self';");
    const files = addressesIn(text, '/docs/oauth2-redirect.html');
    expect(files).toEqual(['/docs/oauth2-redirect.js']);
    for (const file of files) expect((await read(file)).response.status).toBe(200);
  });

  it('files of the viewer are revalidated with 304', async () => {
    const first = await read('/docs/swagger-ui.css');
    const etag = first.response.headers.get('etag') ?? '';
    expect((await shop.get('/docs/swagger-ui.css', { 'if-none-match': etag })).status).toBe(304);
  });

  it.each(['/docs/package.json', '/docs/..%2fpackage.json', '/docs/constructor', '/docs/x/'])('%s is not served', async (path) => {
    expect((await read(path)).response.status).toBe(404);
  });

  it('/problems links to a page for every code, with its meaning, what to do and an example (slow)', async () => {
    const list = await read('/problems');
    const pages = addressesIn(list.text, '/problems').filter((one) => one.startsWith('/problems/'));
    expect(pages.sort()).toEqual(Object.keys(problemTable).map((code) => `/problems/${code}`).sort());
    for (const path of pages) {
      const { response, text } = await read(path);
      expect(response.status).toBe(200);
      for (const heading of ['What it means', 'What to do', 'Example']) expect(text).toContain(`<h2>${heading}</h2>`);
      expect(text).toContain(path.slice('/problems/'.length));
      expect(text).not.toContain('<token>');
    }
    expect((await read('/problems/no-such')).response.status).toBe(404);
  });
});
