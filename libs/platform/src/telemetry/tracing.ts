import { tracingSettings } from './tracing.settings.js';

/** Names and values of OpenTelemetry's semantic conventions. Never a URL, a parameter, a header or an error's text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A place in a trace as W3C Trace Context writes it; absent where something was not traced. */
export type Traceparent = string | null | undefined;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  /** What it is part of; absent: of the span that is under way here, if there is one. */
  readonly parent?: Traceparent;
  /** It is part of nothing: it does its work for several at once, which it names as `links`. */
  readonly isRoot?: true;
  /** In milliseconds since the epoch; absent: it begins now. */
  readonly begun?: number;
  /** What it was caused by, beside its parent. */
  readonly links?: readonly Traceparent[];
  readonly attributes?: SpanAttributes;
}

/** A span that has begun and not ended. */
export interface OpenSpan {
  readonly traceparent: string;
  readonly traceId: string;
  readonly spanId: string;
  set(attributes: SpanAttributes): void;
  link(causes: readonly Traceparent[]): void;
  /** What is begun in there, also later on and asynchronously, is part of this span. */
  run<T>(work: () => T): T;
  /** @param failure the code of an error that operators should look at */
  end(failure?: string): void;
}

export interface Tracing {
  begin(start: SpanStart): OpenSpan;
  /** One run of a background loop. It leaves no trace unless it fails or `causedBy` is called in it. */
  beginRun(name: string): OpenSpan;
  /** What is under way here, such as a run of a loop, has something to do, because of these. */
  causedBy(causes: readonly Traceparent[]): void;
  /** The span that is under way here. */
  readonly active: OpenSpan | undefined;
  /** Where it says that spans cannot be sent. */
  logTo(warn: (text: string) => void): void;
  /** Sends what was not sent yet. */
  stop(): Promise<void>;
}

/**
 * Undefined while tracing is off, which it is unless the OTEL_* variables switch it on: then nothing of it is even loaded,
 * and what a request pays for it is the question whether this is defined.
 */
export let tracing: Tracing | undefined;

/**
 * Once in a process, before anything else of the service. Spans go to where the standard OTEL_* variables say.
 * @returns what of the variables is not understood, for the log; tracing is off then
 */
export async function startTracing(service: string, environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { settings, faults } = tracingSettings(environment);
  if (settings) {
    const { OpenTelemetry } = await import('./opentelemetry.js');
    tracing = await OpenTelemetry.start(service, settings);
  }
  return faults;
}

/** For rows that outlive the request: only what is sent anywhere is worth its place. */
export const ifSampled = (traceparent: Traceparent): string | null =>
  typeof traceparent === 'string' && (parseInt(traceparent.slice(-2), 16) & 1) === 1 ? traceparent : null;

/** Does work as a span of its own. */
export async function traced<T>(start: SpanStart, work: () => Promise<T>): Promise<T> {
  const span = tracing?.begin(start);
  if (!span) return work();
  try {
    const result = await span.run(work);
    span.end();
    return result;
  } catch (error) {
    span.end(failureOf(error));
    throw error;
  }
}

/** What an error is called in a span: its code. Texts may hold what is secret. */
export function failureOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  if (typeof code === 'string') return code;
  return typeof name === 'string' ? name : 'unknown';
}
