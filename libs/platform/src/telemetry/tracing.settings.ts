/** How spans are sampled and exported, from the OTEL_* variables. The exporter reads its own variables (endpoint, headers, TLS, …). */
export interface TracingSettings {
  readonly protocol: 'http/protobuf' | 'http/json';
  readonly sampler: SamplerName;
  /** Share of new traces that is sampled, from 0 to 1. */
  readonly ratio: number;
  /** Limits of the queue of spans that wait to be exported. */
  readonly queue: { readonly maxSpans: number; readonly maxPerBatch: number; readonly delayMs: number; readonly timeoutMs: number };
}

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

const protocols = ['http/protobuf', 'http/json'] as const;

/**
 * Reads the variables of OpenTelemetry's "Environment Variable Specification". Tracing is on when an endpoint or the exporter `otlp`
 * is set. Unlike in the specification, it is off by default: a service does not look for a collector that may not exist. An invalid
 * value switches tracing off but does not stop the service.
 */
export function tracingSettings(environment: NodeJS.ProcessEnv): {
  readonly settings?: TracingSettings;
  readonly faults: readonly string[];
} {
  const given = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const exporter = given('OTEL_TRACES_EXPORTER')?.toLowerCase();
  const endpoint = given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? given('OTEL_EXPORTER_OTLP_ENDPOINT');
  const isOff = given('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none';
  if (isOff || (exporter === undefined && endpoint === undefined)) return { faults: [] };

  const faults: string[] = [];
  const choice = <T extends string>(name: string, value: string, choices: readonly [T, ...T[]]): T => {
    const found = choices.find((one) => one === value.toLowerCase());
    if (found === undefined) faults.push(`${name} must be one of ${choices.join(', ')}`);
    return found ?? choices[0];
  };
  const number = (name: string, preset: number, max: number): number => {
    const value = Number(given(name) ?? preset);
    if (!(value >= 0 && value <= max)) faults.push(`${name} must be a number from 0 to ${max}`);
    return value;
  };
  if (exporter !== undefined) choice('OTEL_TRACES_EXPORTER', exporter, ['otlp', 'none']);
  const ofTraces = 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  const protocolName = given(ofTraces) ? ofTraces : 'OTEL_EXPORTER_OTLP_PROTOCOL';
  const maxSpans = number('OTEL_BSP_MAX_QUEUE_SIZE', 2_048, 1_000_000);
  const settings: TracingSettings = {
    protocol: choice(protocolName, given(protocolName) ?? 'http/protobuf', protocols),
    sampler: choice('OTEL_TRACES_SAMPLER', given('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on', samplers),
    ratio: number('OTEL_TRACES_SAMPLER_ARG', 1, 1),
    queue: {
      maxSpans,
      maxPerBatch: Math.min(maxSpans, number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, 1_000_000)),
      delayMs: number('OTEL_BSP_SCHEDULE_DELAY', 5_000, 3_600_000),
      timeoutMs: number('OTEL_BSP_EXPORT_TIMEOUT', 30_000, 3_600_000),
    },
  };
  return faults.length > 0 ? { faults } : { settings, faults };
}
