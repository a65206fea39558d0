import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../shop.js';

/** A span as its service exported it. */
export interface Span {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Ids of the spans that it is linked with. */
  readonly links: readonly string[];
  readonly hasFailed: boolean;
}

// What of OTLP's JSON is looked at: opentelemetry-proto, trace/v1/trace.proto.
type KeyValues = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: KeyValues };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly name: string;
        readonly attributes?: KeyValues;
        readonly links?: readonly { readonly spanId: string }[];
        readonly status?: { readonly code?: number };
      }[];
    }[];
  }[];
}

const failed = 2;
const valuesOf = (attributes: KeyValues = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Takes spans by OTLP over HTTP as JSON, as a collector does. */
export class Collector {
  readonly spans: Span[] = [];
  /** All that came, as it came. */
  readonly texts: string[] = [];

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly url: string,
  ) {}

  static async start(): Promise<Collector> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const collector = new Collector(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('request', (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        if (request.method !== 'POST' || request.url !== '/v1/traces') {
          response.writeHead(404).end();
          return;
        }
        collector.take(Buffer.concat(parts).toString('utf8'));
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    return collector;
  }

  /** The one span that is as described, once it is here. */
  async span(what: string, isIt: (span: Span) => boolean): Promise<Span> {
    try {
      await until(async () => this.spans.some(isIt), 20_000);
    } catch (error) {
      throw new Error(`no span came: ${what}`, { cause: error });
    }
    const [found, ...others] = this.spans.filter(isIt);
    if (!found || others.length > 0) throw new Error(`${1 + others.length} spans came, not one: ${what}`);
    return found;
  }

  childrenOf({ spanId }: Span): readonly Span[] {
    return this.spans.filter((one) => one.parentSpanId === spanId);
  }

  stop(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    return stopped;
  }

  private take(text: string): void {
    this.texts.push(text);
    for (const { resource, scopeSpans } of (JSON.parse(text) as Export).resourceSpans) {
      const service = String(valuesOf(resource.attributes)['service.name']);
      for (const { traceId, spanId, parentSpanId = '', name, attributes, links = [], status } of scopeSpans.flatMap(({ spans }) => spans)) {
        const hasFailed = status?.code === failed;
        this.spans.push({ service, traceId, spanId, parentSpanId, name, attributes: valuesOf(attributes), links: links.map((one) => one.spanId), hasFailed });
      }
    }
  }
}
