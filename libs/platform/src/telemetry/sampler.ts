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
