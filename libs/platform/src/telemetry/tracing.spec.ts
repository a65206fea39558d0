import { execFileSync } from 'node:child_process';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '../logging.js';
import { BackgroundLoop } from '../service/background-loop.js';
import { ifSampled, startTracing, stopTracing, tracing } from './tracing.js';

/** Starts tracing in a child process. @returns the OpenTelemetry packages that it loads, apart from the API, which prom-client imports */
function loadedWith(environment: Record<string, string>): string[] {
  const main = `
    import { registerHooks } from 'node:module';
    const loaded = new Set();
    registerHooks({
      resolve(specifier, context, next) {
        const resolved = next(specifier, context);
        const [, name] = /node_modules\\/(@opentelemetry\\/(?!api\\/)[a-z-]+)\\//.exec(resolved.url) ?? [];
        if (name) loaded.add(name);
        return resolved;
      },
    });
    await import(${JSON.stringify(new URL('../../dist/service/service.js', import.meta.url).href)});
    const { startTracing } = await import(${JSON.stringify(new URL('../../dist/telemetry/tracing.js', import.meta.url).href)});
    await startTracing('store', process.env);
    console.log(JSON.stringify([...loaded]));
    process.exit();
  `;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', main], { env: environment, encoding: 'utf8' });
  return JSON.parse(output) as string[];
}

describe('tracing', () => {
  it('is not loaded unless the OTEL_* variables switch it on (slow)', () => {
    expect(loadedWith({})).toEqual([]);
    expect(loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' })).toEqual([]);
    expect(loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })).toEqual(
      expect.arrayContaining(['@opentelemetry/sdk-trace', '@opentelemetry/exporter-trace-otlp-proto']),
    );
  }, 30_000);

  describe('when on', () => {
    const lines: Record<string, unknown>[] = [];
    const log = (): ReturnType<typeof createLogger> =>
      createLogger('store', 'info', new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
          done();
        },
      }));

    beforeAll(async () => {
      expect(await startTracing('store', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })).toEqual([]);
    });
    afterAll(stopTracing);

    it('continues the trace of a valid traceparent, and starts a new one otherwise', () => {
      const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      expect(tracing?.begin({ name: 'part', kind: 'server', parent }).traceparent).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/);
      for (const none of ['', 'x', '00-00000000000000000000000000000000-00f067aa0ba902b7-01', `${parent}-more`, undefined]) {
        expect(tracing?.begin({ name: 'part', kind: 'server', parent: none }).traceId).toMatch(/^(?!4bf92f35)[0-9a-f]{32}$/);
      }
    });

    it('does not sample a trace that its client does not sample', () => {
      const unsampled = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
      const span = tracing?.begin({ name: 'part', kind: 'server', parent: unsampled });
      expect(span?.traceparent).toMatch(/-00$/);
      expect(ifSampled(span?.traceparent)).toBeNull();
      expect(ifSampled(tracing?.begin({ name: 'part', kind: 'server' }).traceparent)).not.toBeNull();
    });

    it('gives each run of a background loop a span, unless the loop has nothing to trace', async () => {
      const activeIn = async (isTraced?: boolean): Promise<boolean> => {
        const isActive = new Promise<boolean>((resolve) => {
          const options = { name: 'work', intervalMs: 10, ...(isTraced !== undefined && { isTraced }) };
          const loop = new BackgroundLoop(options, async () => {
            resolve(tracing?.active !== undefined);
            void loop.stop();
            return false;
          }, log());
          loop.start();
        });
        return isActive;
      };
      expect([await activeIn(), await activeIn(false)]).toEqual([true, false]);
    });

    it('adds the active span to each log line, at any depth of asynchronous calls', async () => {
      const logger = log();
      logger.info('before');
      const ids = await tracing?.begin({ name: 'work', kind: 'internal' }).run(async () => {
        await new Promise((resolve) => setImmediate(resolve));
        logger.info({ things: 1 }, 'within');
        return { traceId: tracing?.active?.traceId, spanId: tracing?.active?.spanId };
      });
      logger.info('after');
      const [before, within, after] = lines;
      expect(within).toMatchObject({ msg: 'within', things: 1, ...ids });
      for (const line of [before, after]) expect(line).not.toHaveProperty('traceId');
    });
  });
});
