import { passed, reasonOf, unknown, wrong } from './finding.mjs';
import { metricsOf, samples } from './metrics.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */

const RUNBOOK = 'docs/operations.md';

/**
 * Metrics that must stay low, with their limits: the same as in deploy/observability/rules.
 * @type {{ metric: string, about: string, unit: string, most: number, remedy: string }[]}
 */
export const LIMITS = [
  { metric: 'feed_follower_behind_seconds', about: 'feed, age of the first unread event', unit: 's', most: 60, remedy: `${RUNBOOK}#the-feed-lags` },
  { metric: 'notifications_feed_lag', about: 'feed, events missing from the log', unit: 'events', most: 10_000, remedy: `${RUNBOOK}#the-feed-lags` },
  { metric: 'revocation_log_age_seconds', about: 'revocations last seen', unit: 's ago', most: 1, remedy: `${RUNBOOK}#revocations-are-not-seen` },
  { metric: 'stream_held', about: 'stream held back', unit: '', most: 0, remedy: `${RUNBOOK}#revocations-are-not-seen` },
  { metric: 'webhook_log_behind_seconds', about: 'oldest event whose webhook deliveries are not enqueued', unit: 's', most: 60, remedy: `${RUNBOOK}#webhook-backlog` },
  { metric: 'webhook_oldest_undelivered_seconds', about: 'oldest undelivered webhook', unit: 's', most: 3_600, remedy: `${RUNBOOK}#webhook-backlog` },
];

/** @param {{ label: string, url: string }[]} services their operations ports @returns {Promise<Finding[]>} */
export async function checkLag(services) {
  if (services.length === 0) return [unknown('lag', 'not checked: no service runs', 'npm start')];
  return (await Promise.all(services.map(lagOf))).flat();
}

/** @param {{ label: string, url: string }} service @returns {Promise<Finding[]>} */
async function lagOf({ label, url }) {
  try {
    return judge(label, await metricsOf(url));
  } catch (error) {
    return [unknown(`${label} metrics`, `no answer (${reasonOf(error)})`, 'see this service above')];
  }
}

/** @param {string} label @param {string} metrics in Prometheus' text format @returns {Finding[]} */
export function judge(label, metrics) {
  return samples(metrics).flatMap(({ name, labels, value }) => {
    const limit = LIMITS.find(({ metric }) => metric === name);
    if (!limit) return [];
    const follower = /follower="([^"]*)"/.exec(labels)?.[1];
    const about = `${label} ${limit.about}${follower ? ` of ${follower}` : ''}`;
    const message = `${Number(value.toPrecision(3))} ${limit.unit}`.trim();
    return [value <= limit.most ? passed(about, message) : wrong(about, `${message}, usually at most ${limit.most}`, limit.remedy)];
  });
}
