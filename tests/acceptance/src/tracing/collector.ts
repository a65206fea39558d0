import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../shop.js';

/** A span that a service exported. */
export interface Span {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Ids of linked spans. */
  readonly links: readonly string[];
  readonly hasFailed: boolean;
}

// The part of OTLP's JSON that is used here: opentelemetry-proto, trace/v1/trace.proto.
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

/** Receives spans as a collector does, by OTLP over HTTP in JSON. */
export class Collector {
  readonly spans: Span[] = [];
  /** All request bodies in order of arrival. */
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

  /** Waits for a matching span. Throws if none comes within 20 s, or if several match. */
  async span(what: string, matches: (span: Span) => boolean): Promise<Span> {
    try {
      await until(async () => this.spans.some(matches), 20_000);
    } catch (error) {
      throw new Error(`no such span: ${what}`, { cause: error });
    }
    const [found, ...others] = this.spans.filter(matches);
    if (!found || others.length > 0) throw new Error(`${1 + others.length} spans match, expected one: ${what}`);
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
