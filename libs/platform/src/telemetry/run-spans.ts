import { SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';

interface Run {
  readonly spans: ReadableSpan[];
  /** What the sampler says of a trace that begins here. */
  readonly isSampled: boolean;
  isKept: boolean;
}

/**
 * Holds back the spans of background runs until they are over. Loops look for work several times a second and mostly find
 * none; only a run that did something, or failed, is sent.
 */
export class RunSpans implements SpanProcessor {
  private readonly runs = new Map<string, Run>();

  constructor(private readonly next: SpanProcessor) {}

  hold(traceId: string, isSampled: boolean): void {
    this.runs.set(traceId, { spans: [], isSampled, isKept: false });
  }

  /** It has something to do. It is sent with what caused it, whatever the sampler says. */
  keep(traceId: string, isCauseSampled: boolean): void {
    const run = this.runs.get(traceId);
    if (run) run.isKept ||= run.isSampled || isCauseSampled;
  }

  /** Whether spans of a trace are held back, and nothing says yet that they will be sent. */
  isHeld(traceId: string): boolean {
    return this.runs.get(traceId)?.isKept === false;
  }

  onStart(...started: Parameters<SpanProcessor['onStart']>): void {
    this.next.onStart(...started);
  }

  onEnd(span: ReadableSpan): void {
    const { traceId } = span.spanContext();
    const run = this.runs.get(traceId);
    if (!run) {
      this.next.onEnd(span);
      return;
    }
    run.spans.push(span);
    if (span.parentSpanContext !== undefined) return;
    this.runs.delete(traceId);
    const hasFailed = span.status.code === SpanStatusCode.ERROR;
    if (run.isKept || (hasFailed && run.isSampled)) for (const one of run.spans) this.next.onEnd(one);
  }

  forceFlush(): Promise<void> {
    return this.next.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.next.shutdown();
  }
}
