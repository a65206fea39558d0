import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import {
  type Context,
  createContextKey,
  diag,
  DiagLogLevel,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { detectResources, resourceAttributesEnvDetector, resourceFromAttributes, serviceNameEnvDetector } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { RunSpans } from './run-spans.js';
import type { OpenSpan, SpanAttributes, SpanStart, Traceparent, Tracing } from './tracing.js';
import type { TracingSettings } from './tracing.settings.js';

/** Marks the context of a background run, whose export is decided at its end (`RunSpans`). */
export const backgroundRunKey = createContextKey('background run');

export const isSampled = ({ traceFlags }: { readonly traceFlags: number }): boolean => (traceFlags & TraceFlags.SAMPLED) !== 0;

/** Returns the sampler that the settings name. */
export function configuredSampler({ sampler, ratio }: TracingSettings): Sampler {
  const root = rootSampler(sampler.replace('parentbased_', ''), ratio);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler();
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}

/** Samples a span if one of its links is sampled, so that an order's trace continues in the batches that it joins. */
export class SamplerByLinks implements Sampler {
  constructor(private readonly configured: Sampler) {}

  shouldSample(...asked: Parameters<Sampler['shouldSample']>): SamplingResult {
    const [context, , , , , links] = asked as [Context, string, string, never, never, Link[]];
    const mustSample = context.getValue(backgroundRunKey) === true || links.some((link) => isSampled(link.context));
    return mustSample ? { decision: SamplingDecision.RECORD_AND_SAMPLED } : this.configured.shouldSample(...asked);
  }

  toString(): string {
    return `SamplerByLinks{${this.configured.toString()}}`;
  }
}

// Only this file, run-spans.ts and sampler.ts import OpenTelemetry's SDK. They are loaded only when tracing is on.

const kinds: Readonly<Record<SpanStart['kind'], SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
};

/** Enough for the requests of a batch, or the rows of a background run. */
const maxLinks = 1_024;

/** The active span of the asynchronous context, for SQL spans and log lines. */
const activeSpan = new AsyncLocalStorage<TracedSpan>();

export class OpenTelemetry implements Tracing {
  private readonly tracer: Tracer;

  private constructor(
    private readonly provider: TracerProvider,
    private readonly runs: RunSpans,
    private readonly configured: Sampler,
  ) {
    this.tracer = provider.getTracer('plant-shop');
  }

  static async start(service: string, settings: TracingSettings): Promise<OpenTelemetry> {
    const { maxSpans, maxPerBatch, delayMs, timeoutMs } = settings.queue;
    const runs = new RunSpans(
      new BatchSpanProcessor({
        exporter: await exporterFor(settings.protocol),
        maxQueueSize: maxSpans,
        maxExportBatchSize: maxPerBatch,
        scheduledDelayMillis: delayMs,
        exportTimeoutMillis: timeoutMs,
      }),
    );
    const own = resourceFromAttributes({
      'service.name': service,
      'service.namespace': 'plant-shop',
      'service.instance.id': randomUUID(),
    });
    const configured = configuredSampler(settings);
    const provider = new TracerProvider({
      resource: own.merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
      sampler: new SamplerByLinks(configured),
      spanLimits: { linkCountLimit: maxLinks, attributeValueLengthLimit: 256 },
      spanProcessors: [runs],
    });
    return new OpenTelemetry(provider, runs, configured);
  }

  begin({ name, kind, parent, isRoot, begun, links = [], attributes = {} }: SpanStart): OpenSpan {
    const options = {
      kind: kinds[kind],
      ...(begun !== undefined && { startTime: begun }),
      attributes,
      links: contextsOf(links).map((context) => ({ context })),
    };
    const context = isRoot ? ROOT_CONTEXT : contextOf(parent);
    return new TracedSpan(this.tracer.startSpan(name, options, context), this.runs);
  }

  beginRun(name: string): OpenSpan {
    const options = { kind: SpanKind.INTERNAL };
    const span = this.tracer.startSpan(name, options, ROOT_CONTEXT.setValue(backgroundRunKey, true));
    const { traceId } = span.spanContext();
    const { decision } = this.configured.shouldSample(ROOT_CONTEXT, traceId, name, SpanKind.INTERNAL, {}, []);
    this.runs.hold(traceId, decision === SamplingDecision.RECORD_AND_SAMPLED);
    return new TracedSpan(span, this.runs);
  }

  causedBy(causes: readonly Traceparent[]): void {
    const span = activeSpan.getStore();
    if (!span) return;
    span.link(causes);
    this.runs.keep(span.traceId, contextsOf(causes).some(isSampled));
  }

  get active(): OpenSpan | undefined {
    return activeSpan.getStore();
  }

  logTo(warn: (text: string) => void): void {
    const ignore = (): void => undefined;
    diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  }

  async stop(): Promise<void> {
    try {
      await this.provider.shutdown();
    } catch (error) {
      diag.warn(`the last spans are lost: ${(error as Error).message}`);
    }
  }
}

class TracedSpan implements OpenSpan {
  private readonly context: SpanContext;

  constructor(
    readonly span: Span,
    private readonly runs: RunSpans,
  ) {
    this.context = span.spanContext();
  }

  get traceId(): string {
    return this.context.traceId;
  }

  get spanId(): string {
    return this.context.spanId;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.context;
    const flags = this.runs.isHeld(traceId) ? '00' : traceFlags.toString(16).padStart(2, '0');
    return `00-${traceId}-${spanId}-${flags}`;
  }

  set(attributes: SpanAttributes): void {
    this.span.setAttributes(attributes);
  }

  link(causes: readonly Traceparent[]): void {
    this.span.addLinks(contextsOf(causes).map((context) => ({ context })));
  }

  run<T>(work: () => T): T {
    return activeSpan.run(this, work);
  }

  end(failure?: string): void {
    if (failure !== undefined) {
      this.span.setAttribute('error.type', failure);
      this.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.span.end();
  }
}

async function exporterFor(protocol: TracingSettings['protocol']): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}

/** Returns the context of the given parent or, without one, of the active span. */
function contextOf(parent: Traceparent): Context {
  if (parent === undefined || parent === null) {
    const active = activeSpan.getStore();
    return active ? trace.setSpan(ROOT_CONTEXT, active.span) : ROOT_CONTEXT;
  }
  const [remote] = contextsOf([parent]);
  return remote ? trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true }) : ROOT_CONTEXT;
}

/** Returns the span contexts of all valid traceparents, without duplicates. */
function contextsOf(traceparents: readonly Traceparent[]): SpanContext[] {
  return [...new Set(traceparents)].flatMap((one) => {
    const context = parseTraceParent(one ?? '');
    return context && isSpanContextValid(context) ? [context] : [];
  });
}
