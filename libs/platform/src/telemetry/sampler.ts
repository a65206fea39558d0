import { type Context, createContextKey, type Link, TraceFlags } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TracingSettings } from './tracing.settings.js';

/** In the context of a background run: what becomes of it is decided when it is over (`RunSpans`). */
export const backgroundRunKey = createContextKey('background run');

export const isSampled = ({ traceFlags }: { readonly traceFlags: number }): boolean => (traceFlags & TraceFlags.SAMPLED) !== 0;

/** The sampler that the settings name. */
export function configuredSampler({ sampler, ratio }: TracingSettings): Sampler {
  const root = rootSampler(sampler.replace('parentbased_', ''), ratio);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler();
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}

/** Takes what was caused by something that was taken: an order's way does not end where it joins others. */
export class SamplerByLinks implements Sampler {
  constructor(private readonly configured: Sampler) {}

  shouldSample(...asked: Parameters<Sampler['shouldSample']>): SamplingResult {
    const [context, , , , , links] = asked as [Context, string, string, never, never, Link[]];
    const isTaken = context.getValue(backgroundRunKey) === true || links.some((link) => isSampled(link.context));
    return isTaken ? { decision: SamplingDecision.RECORD_AND_SAMPLED } : this.configured.shouldSample(...asked);
  }

  toString(): string {
    return `SamplerByLinks{${this.configured.toString()}}`;
  }
}
