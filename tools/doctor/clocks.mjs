import { passed, reasonOf, unknown, wrong } from './finding.mjs';
import { metricsOf, samples } from './metrics.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */

/** The threshold of the alert ClocksDiffer. */
const LIMIT_S = 5;

/**
 * One service's measurement of another's clock.
 * @typedef {{ by: string, of: string, aheadS: number }} Difference
 */

/**
 * Checks whether the services' hosts agree on the time, by the clock skew that the services measured for each other.
 * @param {{ label: string, url: string }[]} services their operations ports
 * @returns {Promise<Finding[]>}
 */
export async function checkClocks(services) {
  if (services.length === 0) return [unknown('clocks of services', 'not checked: no service runs', 'npm start')];
  try {
    return judgeClocks((await Promise.all(services.map(differencesOf))).flat());
  } catch (error) {
    return [unknown('clocks of services', `not checked (${reasonOf(error)})`, 'see the services above')];
  }
}

/** @param {{ label: string, url: string }} service @returns {Promise<Difference[]>} */
async function differencesOf({ label, url }) {
  return samples(await metricsOf(url)).flatMap(({ name, labels, value }) => {
    const of = /peer="([^"]*)"/.exec(labels)?.[1];
    return name === 'rpc_peer_clock_skew_seconds' && of ? [{ by: label, of, aheadS: value }] : [];
  });
}

/**
 * Names the services whose clocks are off: those far from the median of all services.
 * @param {readonly Difference[]} differences
 * @returns {Finding[]}
 */
export function judgeClocks(differences) {
  if (differences.length === 0) return [unknown('clocks of services', 'no service has measured another yet', 'run this again in a minute')];
  const positions = positionsOf(differences);
  const sorted = [...positions.values()].sort((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  const off = [...positions].flatMap(([name, position]) => (Math.abs(position - median) > LIMIT_S ? [{ name, aheadS: position - median }] : []));
  if (off.length === 0) {
    const most = Math.max(...differences.map(({ aheadS }) => Math.abs(aheadS)));
    return [passed('clocks of services', `differ by ${most.toFixed(1)} s at most`)];
  }
  const right = [...positions.keys()].filter((name) => !off.some((one) => one.name === name));
  return off.map(({ name, aheadS }) =>
    wrong(`clock of ${name}`, `${Math.abs(aheadS).toFixed(1)} s ${aheadS > 0 ? 'ahead of' : 'behind'} ${right.join(', ')}`, 'docs/operations.md#clocks-differ'),
  );
}

/** Returns the offset of each service's clock from that of the first service. @param {readonly Difference[]} differences */
function positionsOf(differences) {
  const positions = new Map([[differences[0]?.by ?? '', 0]]);
  for (let known = 0; known < positions.size; ) {
    known = positions.size;
    for (const { by, of, aheadS } of differences) {
      const [from, to] = [positions.get(by), positions.get(of)];
      if (from !== undefined && to === undefined) positions.set(of, from + aheadS);
      if (to !== undefined && from === undefined) positions.set(by, to - aheadS);
    }
  }
  return positions;
}
