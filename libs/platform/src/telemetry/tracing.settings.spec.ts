import { describe, expect, it } from '@jest/globals';
import { tracingSettings } from './tracing.settings.js';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('tracing settings', () => {
  it.each([
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { OTEL_TRACES_EXPORTER: 'none' },
    { OTEL_TRACES_EXPORTER: 'none', ...endpoint },
    { OTEL_SDK_DISABLED: 'true', ...endpoint },
    { OTEL_SERVICE_NAME: 'store', OTEL_TRACES_SAMPLER: 'always_on' },
  ])('%j leave tracing off', (environment) => {
    expect(tracingSettings(environment)).toEqual({ faults: [] });
  });

  it.each([endpoint, { OTEL_TRACES_EXPORTER: 'otlp' }, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }])(
    "%j switch tracing on, with the specification's defaults",
    (environment) => {
      expect(tracingSettings(environment)).toEqual({
        faults: [],
        settings: {
          protocol: 'http/protobuf',
          sampler: 'parentbased_always_on',
          ratio: 1,
          queue: { maxSpans: 2_048, maxPerBatch: 512, delayMs: 5_000, timeoutMs: 30_000 },
        },
      });
    },
  );

  it('prefer the variables of traces to those of all signals', () => {
    const { settings } = tracingSettings({
      ...endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
    });
    expect(settings).toMatchObject({ protocol: 'http/json', sampler: 'parentbased_traceidratio', ratio: 0.01, queue: { maxSpans: 100, maxPerBatch: 100 } });
  });

  it.each([
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
  ])('%s=%s is invalid: tracing stays off, and the fault names the variable', (name, value) => {
    const { settings, faults } = tracingSettings({ ...endpoint, [name]: value });
    expect(settings).toBeUndefined();
    expect(faults).toEqual([expect.stringContaining(name)]);
  });
});
