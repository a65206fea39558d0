import { ROOT_CONTEXT, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { RunSpans } from './run-spans.js';
import { configuredSampler, backgroundRunKey, SamplerByLinks } from './opentelemetry.js';
import { tracingSettings } from './tracing.settings.js';

const settings = tracingSettings({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }).settings!;
const cause = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', traceFlags: 1 };

describe('the trace of a background run', () => {
  let exporter: InMemorySpanExporter;
  let runs: RunSpans;
  let tracer: ReturnType<TracerProvider['getTracer']>;
  beforeEach(() => {
    exporter = new InMemorySpanExporter();
    runs = new RunSpans(new SimpleSpanProcessor({ exporter }));
    tracer = new TracerProvider({ sampler: new SamplerByLinks(configuredSampler(settings)), spanProcessors: [runs] }).getTracer('test');
  });

  const names = (): string[] => exporter.getFinishedSpans().map(({ name }) => name);
  /** Executes a run with one statement in it. */
  const run = (isSampled: boolean, within: (span: Span) => void): void => {
    const span = tracer.startSpan('run', {}, ROOT_CONTEXT.setValue(backgroundRunKey, true));
    runs.hold(span.spanContext().traceId, isSampled);
    within(span);
    tracer.startSpan('statement', {}, trace.setSpan(ROOT_CONTEXT, span)).end();
    span.end();
  };

  it('is not exported if the run finds no work', () => {
    run(true, () => undefined);
    expect(names()).toEqual([]);
  });

  it('is exported at its end if the run finds work', () => {
    run(true, (span) => {
      expect(runs.isHeld(span.spanContext().traceId)).toBe(true);
      runs.keep(span.spanContext().traceId, false);
      expect(runs.isHeld(span.spanContext().traceId)).toBe(false);
    });
    expect(names()).toEqual(['statement', 'run']);
  });

  it('is exported if the run fails and a new trace would be sampled', () => {
    for (const isSampled of [true, false]) run(isSampled, (span) => void span.setStatus({ code: SpanStatusCode.ERROR }));
    expect(names()).toEqual(['statement', 'run']);
  });

  it('is exported if a cause was sampled, even if the sampler decides against it', () => {
    run(false, (span) => runs.keep(span.spanContext().traceId, false));
    expect(names()).toEqual([]);
    run(false, (span) => runs.keep(span.spanContext().traceId, true));
    expect(names()).toEqual(['statement', 'run']);
    tracer.startSpan('batch of others', { links: [{ context: { ...cause, traceFlags: 0 } }] }, ROOT_CONTEXT).end();
    tracer.startSpan('batch', { links: [{ context: cause }] }, ROOT_CONTEXT).end();
    expect(names()).toEqual(['statement', 'run', 'batch']);
  });
});
