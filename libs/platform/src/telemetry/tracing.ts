import { tracingSettings } from './tracing.settings.js';

/** Attributes according to OpenTelemetry's semantic conventions. They must not contain URLs, parameters, headers or error texts. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span's position in a trace (W3C Trace Context); null or undefined if it was not traced. */
export type Traceparent = string | null | undefined;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  /** The parent span; by default the active span, if there is one. */
  readonly parent?: Traceparent;
  /** Starts a new trace, for work on behalf of several others, which are its `links`. */
  readonly isRoot?: true;
  /** Start time in milliseconds since the epoch; by default now. */
  readonly begun?: number;
  /** Spans that caused it, apart from its parent. */
  readonly links?: readonly Traceparent[];
  readonly attributes?: SpanAttributes;
}

/** A span that has started and not ended. */
export interface OpenSpan {
  readonly traceparent: string;
  readonly traceId: string;
  readonly spanId: string;
  set(attributes: SpanAttributes): void;
  link(causes: readonly Traceparent[]): void;
  /** Runs `work` with this span as the active one, also across asynchronous calls. */
  run<T>(work: () => T): T;
  /** @param failure the code of an error that operators should know of */
  end(failure?: string): void;
}

export interface Tracing {
  begin(start: SpanStart): OpenSpan;
  /** Begins the span of a background run. It is not exported unless the run fails or calls `causedBy`. */
  beginRun(name: string): OpenSpan;
  /** Marks the active span, such as that of a background run, as work caused by these spans. */
  causedBy(causes: readonly Traceparent[]): void;
  /** The active span of the asynchronous context. */
  readonly active: OpenSpan | undefined;
  /** Sets where to report that spans cannot be exported. */
  logTo(warn: (text: string) => void): void;
  /** Exports the remaining spans. */
  stop(): Promise<void>;
}

/**
 * Undefined while tracing is off, the default. Then no code of OpenTelemetry is loaded, and a request only pays for checking this
 * variable.
 */
export let tracing: Tracing | undefined;

/**
 * Switches tracing on if the OTEL_* variables say so. Call it once per process, before anything else of the service.
 * @returns the faults of the variables, for the log; with faults tracing stays off
 */
export async function startTracing(service: string, environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { settings, faults } = tracingSettings(environment);
  if (settings) {
    const { OpenTelemetry } = await import('./opentelemetry.js');
    tracing = await OpenTelemetry.start(service, settings);
  }
  return faults;
}

/** Sends the last spans and switches tracing off. */
export async function stopTracing(): Promise<void> {
  const stopped = tracing;
  tracing = undefined;
  await stopped?.stop();
}

/** Returns a traceparent only if it is sampled, for storing it in rows: an unsampled one is never exported. */
export const ifSampled = (traceparent: Traceparent): string | null =>
  typeof traceparent === 'string' && (parseInt(traceparent.slice(-2), 16) & 1) === 1 ? traceparent : null;

/** Returns an error's code or class name, to label spans. Never its text, which may contain secrets. */
export function failureOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  if (typeof code === 'string') return code;
  return typeof name === 'string' ? name : 'unknown';
}
