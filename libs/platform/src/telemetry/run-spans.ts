import { SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';

interface Run {
  readonly spans: ReadableSpan[];
  /** The sampler's decision for a new trace. */
  readonly isSampled: boolean;
  isKept: boolean;
}

/**
 * Tail-based sampling of background runs: holds their spans until the run ends. Loops look for work several times a second and mostly
 * find none. Only a run that found work, or failed, is exported.
 */
export class RunSpans implements SpanProcessor {
  private readonly runs = new Map<string, Run>();

  constructor(private readonly next: SpanProcessor) {}

  hold(traceId: string, isSampled: boolean): void {
    this.runs.set(traceId, { spans: [], isSampled, isKept: false });
  }

  /** Keeps a run that found work, if it is sampled or one of its causes is. */
  keep(traceId: string, isCauseSampled: boolean): void {
    const run = this.runs.get(traceId);
    if (run) run.isKept ||= run.isSampled || isCauseSampled;
  }

  /** Whether a trace's spans are held, without a decision to export them yet. */
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
