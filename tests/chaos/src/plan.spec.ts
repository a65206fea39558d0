import { describe, expect, it } from '@jest/globals';
import { endOf, makePlan } from './plan.js';
import { Random } from './random.js';
import { services } from './stack.js';

const labels = services.flatMap((service) => [`${service}-1`, `${service}-2`]);
const plan = (seed: number, seconds = 600) =>
  makePlan(new Random(seed), { kinds: ['kill', 'pause', 'cut', 'stall', 'freeze', 'restart', 'roll'], labels, natsServers: ['nats-1', 'nats-2'], seconds });

describe('a plan', () => {
  it('is determined by its seed', () => {
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  it('leaves the shop at least 4 s to recover before the next fault', () => {
    const faults = plan(7);
    const rests = faults.slice(1).map((fault, n) => fault.atMs - endOf(faults[n]!));
    expect(Math.min(...rests)).toBeGreaterThanOrEqual(4_000);
  });

  it('has faults of every kind and every service', () => {
    const faults = plan(7);
    expect(new Set(faults.map(({ kind }) => kind)).size).toBe(7);
    for (const service of services) expect(faults.some(({ targets }) => targets.some((target) => target.startsWith(service)))).toBe(true);
  });

  it('stalls connections for longer than the shop may take to replace them, sometimes new ones too', () => {
    const stalls = plan(7, 3_000).flatMap((fault) => (fault.kind === 'stall' ? [fault] : []));
    expect(Math.min(...stalls.map(({ forMs, blackoutMs }) => forMs - blackoutMs))).toBeGreaterThan(5_000);
    expect(new Set(stalls.map(({ blackoutMs }) => blackoutMs > 0))).toEqual(new Set([true, false]));
    // The gateway has no database.
    expect(stalls.some(({ from, targets }) => from === 'postgres' && targets.some((target) => target.startsWith('gateway')))).toBe(false);
  });

  it('stalls NATS connections of services only for server versions that close stalled connections', () => {
    const targets = (natsVersion: string): string[] =>
      makePlan(new Random(7), { kinds: ['stall'], labels, natsVersion, seconds: 3_000 }).flatMap((fault) => (fault.kind === 'stall' && fault.from === 'nats' ? fault.targets : []));
    expect(targets('2.9.10').every((target) => target.startsWith('gateway'))).toBe(true);
    expect(['2.9.16', '2.10.0', '2.14.2'].map((version) => targets(version).some((target) => target.startsWith('store')))).toEqual([true, true, true]);
  });

  it('kills the mail server, and lets it stand still', () => {
    const faults = makePlan(new Random(7), { kinds: ['mail'], labels, seconds: 600 });
    expect(new Set(faults.map(({ kind, targets }) => `${kind} ${targets.join()}`))).toEqual(new Set(['kill mail', 'pause mail']));
  });

  it('freezes Postgres, all NATS servers, or one of them', () => {
    const frozen = plan(7, 3_000).flatMap((fault) => (fault.kind === 'freeze' ? fault.targets : []));
    expect(new Set(frozen)).toEqual(new Set(['postgres', 'nats', 'nats-1', 'nats-2']));
  });
});
