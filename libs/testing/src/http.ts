/** Credentials of a request; the shop combines their permissions. */
export interface Credentials {
  readonly apiKey?: string;
  readonly bearer?: string;
  readonly sessionToken?: string;
  /** Of an OAuth client: its id and secret. */
  readonly basic?: readonly [string, string];
}

export type RequestBody = NonNullable<RequestInit['body']>;

export interface RequestOptions {
  readonly as?: Credentials;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Sends one HTTP request. Repeats nothing and follows no redirect: the caller tests the answer. */
export function request(method: string, url: string, { as = {}, json, form, body, headers = {}, signal }: RequestOptions = {}): Promise<Response> {
  return fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(as.apiKey !== undefined && { api_key: as.apiKey }),
      ...(as.bearer !== undefined && { authorization: `Bearer ${as.bearer}` }),
      ...(as.sessionToken !== undefined && { session_token: as.sessionToken }),
      ...(as.basic && { authorization: `Basic ${Buffer.from(as.basic.map(encodeURIComponent).join(':')).toString('base64')}` }),
      ...(json !== undefined && { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
      ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(form !== undefined && { body: new URLSearchParams(form).toString() }),
    ...(body !== undefined && { body }),
    ...(signal && { signal }),
  });
}

/** Reads an answer. `json` is undefined unless the content type is JSON. */
export async function contentOf(response: Response): Promise<{ readonly text: string; readonly json: unknown }> {
  const text = await response.text();
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
  return { text, json: isJson ? (JSON.parse(text) as unknown) : undefined };
}
