/** A form of a page. */
export interface PageForm {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Its buttons as `name=value`, such as `action=login`. */
  readonly buttons: readonly string[];
}

/** A page of the site. */
export interface BrowserPage {
  readonly status: number;
  readonly url: string;
  readonly headers: Headers;
  readonly text: string;
  readonly forms: readonly PageForm[];
}

/** A redirect to another site, such as a client application. */
export interface ExternalRedirect {
  readonly location: URL;
}

/**
 * A browser without scripts, on one site. Stores cookies by path, follows redirects within the site, and parses and submits forms.
 */
export class Browser {
  /** By name and path: a name may have several cookies. */
  private readonly cookies = new Map<string, { readonly pair: string; readonly path: string }>();

  /**
   * @param origin the public origin of the site
   * @param servedAt the address to connect to, if it differs; a test may change it to another replica
   */
  constructor(
    readonly origin: string,
    public servedAt: string = origin,
  ) {}

  open(address: string): Promise<BrowserPage | ExternalRedirect> {
    return this.request('GET', address);
  }

  /** Submits the form of a page that has this button (`name=value`), with the typed values. */
  submit(page: BrowserPage, button: string, typed: Readonly<Record<string, string>> = {}): Promise<BrowserPage | ExternalRedirect> {
    const form = page.forms.find(({ buttons }) => buttons.includes(button));
    if (!form) throw new Error(`${page.url} has no form with the button ${button}:\n${page.text}`);
    const [name = '', value = ''] = button.split('=');
    const body = new URLSearchParams({ ...form.fields, ...typed, [name]: value });
    return this.request('POST', new URL(form.action, page.url).href, body);
  }

  /** Sends one request without following redirects. */
  async send(
    method: string,
    address: string,
    { body, headers = {} }: { body?: URLSearchParams | undefined; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> {
    const { pathname, search, origin } = new URL(address, this.origin);
    if (origin !== this.origin) throw new Error(`${origin} is another site`);
    const response = await fetch(this.servedAt + pathname + search, {
      method,
      redirect: 'manual',
      headers: {
        accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
        cookie: this.cookiesFor(pathname),
        ...(method === 'POST' && { origin: this.origin, 'sec-fetch-site': 'same-origin' }),
        ...headers,
      },
      ...(body && { body }),
    });
    for (const cookie of response.headers.getSetCookie()) this.storeCookie(cookie);
    return response;
  }

  private async request(method: string, address: string, body?: URLSearchParams): Promise<BrowserPage | ExternalRedirect> {
    let url = new URL(address, this.origin);
    let response = await this.send(method, url.href, { body });
    for (let hops = 0; response.status >= 300 && response.status < 400; hops++) {
      if (hops === 10) throw new Error(`${url.href} redirects in a loop`);
      url = new URL(response.headers.get('location') ?? '', url);
      if (url.origin !== this.origin) return { location: url };
      response = await this.send('GET', url.href);
    }
    const text = await response.text();
    return { status: response.status, url: url.href, headers: response.headers, text, forms: formsIn(text) };
  }

  /** The header `Cookie` of a request for this path. */
  cookiesFor(path: string): string {
    return [...this.cookies]
      .filter(([, cookie]) => path === cookie.path || path.startsWith(cookie.path.replace(/\/?$/, '/')))
      .map(([, { pair }]) => pair)
      .join('; ');
  }

  private storeCookie(setCookie: string): void {
    const [pair = '', ...attributes] = setCookie.split(/; */);
    const name = pair.slice(0, pair.indexOf('='));
    const attribute = (wanted: string): string | undefined =>
      attributes.find((one) => one.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
    const expires = attribute('expires');
    const path = attribute('path') ?? '/';
    const key = `${name} ${path}`;
    if (expires !== undefined && Date.parse(expires) <= Date.now()) this.cookies.delete(key);
    else this.cookies.set(key, { pair, path });
  }
}

const entities: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };
const unescaped = (text: string): string => text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (one) => entities[one] ?? one);
const attributeOf = (tag: string, name: string): string =>
  unescaped(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '');

const formsIn = (text: string): PageForm[] =>
  [...text.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)].map(([, tag = '', content = '']) => ({
    action: attributeOf(tag, 'action'),
    fields: Object.fromEntries(
      [...content.matchAll(/<input[^>]*>/g)].map(([input]) => [attributeOf(input, 'name'), attributeOf(input, 'value')]),
    ),
    buttons: [...content.matchAll(/<button[^>]*>/g)].map(
      ([button]) => `${attributeOf(button, 'name')}=${attributeOf(button, 'value')}`,
    ),
  }));

/** Returns the page. @throws Error if the browser was redirected to another site */
export function expectPage(answer: BrowserPage | ExternalRedirect): BrowserPage {
  if ('location' in answer) throw new Error(`expected a page, but the browser was redirected to ${answer.location.href}`);
  return answer;
}

/** Returns the address on another site that the browser was redirected to. @throws Error if the answer is a page */
export function expectRedirect(answer: BrowserPage | ExternalRedirect): URL {
  if (!('location' in answer)) throw new Error(`expected a redirect, got ${answer.status} at ${answer.url}:\n${answer.text}`);
  return answer.location;
}
