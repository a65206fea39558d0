import type { RawAnswer, RawHttp } from '../raw-http.js';
import { type Credentials, type Target, toolTargets } from './requests.js';
import type { Known } from './values.js';

/** Generous, for a busy shop: only generated requests are timed. */
const requestTimeoutMs = 30_000;

/** Creates the things and credentials that generated requests use. */
export class Fixtures {
  private names = 0;
  private readonly run = Date.now().toString(36);

  constructor(private readonly http: RawHttp) {}

  /** Headers with valid and invalid credentials of each kind. */
  async credentials(): Promise<Credentials> {
    const { username, key } = await this.customer();
    const session = await this.sessionOf(username);
    const token = await this.token();
    const tampered = `${token.slice(0, -6)}${token.endsWith('AAAAAA') ? 'BBBBBB' : 'AAAAAA'}`;
    const unsigned = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${token.split('.')[1] ?? ''}.`;
    const bearer = (value: string) => ['Authorization', `Bearer ${value}`] as const;
    return {
      nothing: [],
      adminKey: [['api_key', 'special-key']],
      customerKey: [['api_key', key]],
      customerSession: [['session_token', session]],
      customerBearer: [bearer(session)],
      adminToken: [bearer(token)],
      garbageKey: [['api_key', 'no-such-key']],
      garbageBearer: [bearer('no-such-token')],
      tamperedToken: [bearer(tampered)],
      unsignedToken: [bearer(unsigned)],
      brokenToken: [bearer('a.b.c')],
      emptyKey: [['api_key', '']],
      strangeKey: [['api_key', "' OR 1=1; --"]],
      longKey: [['api_key', 'x'.repeat(9_000)]],
      basic: [['Authorization', 'Basic YWRtaW46eA==']],
      noScheme: [['Authorization', 'Bearer']],
      twoKeys: [['api_key', 'special-key'], ['api_key', key]],
      twoSessions: [bearer(session), ['session_token', session]],
      twoBearers: [bearer(token), bearer(session)],
      goodAndBad: [['api_key', 'special-key'], ['session_token', 'wrong']],
      allKinds: [['api_key', 'special-key'], ['session_token', session], bearer(token)],
      capitals: [['API_KEY', 'special-key']],
    };
  }

  /** Returns the tools of agents. */
  async tools(): Promise<Target[]> {
    const headers = [['api_key', 'special-key'], ['content-type', 'application/json'], ['accept', 'application/json, text/event-stream']] as const;
    const { body } = await this.http.send({ method: 'POST', target: '/mcp', headers, body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}') }, requestTimeoutMs);
    // An event of a stream.
    const { result } = JSON.parse(/\{.*\}/.exec(body.toString())?.[0] ?? '') as { result: { tools: Parameters<typeof toolTargets>[0] } };
    return toolTargets(result.tools);
  }

  /** Creates new things, since earlier requests may have deleted the previous ones. */
  async known(): Promise<Known> {
    const tag = this.fresh('tag');
    const plants = await Promise.all(
      ['available', 'pending', 'sold'].map((status) => this.asAdmin<{ id: number }>('POST', '/v3/plant', { name: 'Fuzz', quantity: 50, status, tags: [{ name: tag }] })),
    );
    const plantIds = plants.map(({ id }) => id);
    const orders = await Promise.all([1, 2, 3].map(() => this.asAdmin<{ id: number }>('POST', '/v3/store/order', { plantId: plantIds[0] })));
    const basket = await this.asAdmin<{ id: number }>('POST', '/v3/store/basket', { lines: [{ plantId: plantIds[0] }, { plantId: plantIds[0] }] });
    const { username, keyId } = await this.customer();
    // No order has this plant, and .invalid never resolves, so no webhook is ever sent.
    const webhook = { url: 'https://fuzz.invalid/x', eventTypes: ['order.status_changed'], plantId: Number.MAX_SAFE_INTEGER };
    const client = { name: 'fuzz', owner: 'admin', grantTypes: ['client_credentials'], scopes: ['read:orders'] };
    return {
      plantId: plantIds,
      orderId: orders.map(({ id }) => id),
      basketId: [basket.id],
      username: [username],
      apiKeyId: [keyId],
      tags: [tag],
      password: [password],
      webhookId: await this.ifRoom('/v3/webhooks', webhook, 'id'),
      clientId: await this.ifRoom('/v3/oauth/clients', client, 'clientId'),
      client_id: ['plant-admin'],
      client_secret: ['plant-secret'],
    };
  }

  private async customer(): Promise<{ username: string; key: string; keyId: string }> {
    const username = this.fresh('fuzz');
    await this.asAdmin('POST', '/v3/user', { username, password });
    const { key, id } = await this.asAdmin<{ key: string; id: string }>('POST', `/v3/user/${username}/apiKeys`, { name: 'fuzz' });
    return { username, key, keyId: id };
  }

  private async sessionOf(username: string): Promise<string> {
    const query = new URLSearchParams({ username, password }).toString();
    return (await this.asAdmin<{ message: string }>('GET', `/v3/user/login?${query}`)).message;
  }

  private async token(): Promise<string> {
    const form = 'grant_type=client_credentials&client_id=plant-admin&client_secret=plant-secret';
    const headers = [['content-type', 'application/x-www-form-urlencoded']] as const;
    const { body } = await this.http.send({ method: 'POST', target: '/oauth/token', headers, body: Buffer.from(form) }, requestTimeoutMs);
    return (JSON.parse(body.toString()) as { access_token: string }).access_token;
  }

  /** Creates a thing; returns nothing if the user's limit is reached, as it is in long runs. */
  private async ifRoom(target: string, value: unknown, id: string): Promise<unknown[]> {
    const { status, body } = await this.send('POST', target, value);
    if (status === 409) return [];
    return [(this.read(target, status, body) as Record<string, unknown>)[id]];
  }

  private async asAdmin<Body>(method: string, target: string, value?: unknown): Promise<Body> {
    const { status, body } = await this.send(method, target, value);
    return this.read(target, status, body) as Body;
  }

  private send(method: string, target: string, value: unknown): Promise<RawAnswer> {
    const headers = [['api_key', 'special-key'], ...(value === undefined ? [] : [['content-type', 'application/json'] as const])] as const;
    const body = value === undefined ? {} : { body: Buffer.from(JSON.stringify(value)) };
    return this.http.send({ method, target, headers, ...body }, requestTimeoutMs);
  }

  private read(target: string, status: number, body: Buffer): unknown {
    if (status !== 200) throw new Error(`${target.replace(/\?.*/, '')} is needed as a fixture, but was answered ${status}: ${body.toString()}`);
    return JSON.parse(body.toString()) as unknown;
  }

  private fresh(what: string): string {
    return `${what}-${this.run}-${++this.names}`;
  }
}

const password = 'a password to fuzz with';
