// The shop's objectives. `npm run dashboards` generates recording rules and alerts from them.

/** Four weeks, so that each window has the same weekdays. */
const WINDOW = '28d';

/**
 * A promise to clients, measured by what fails of what is counted: requests, frames, or time.
 * @typedef {object} Objective
 * @property {string} name
 * @property {number} share of all that must be good within the window
 * @property {string} promise for the dashboard and alerts
 * @property {string} bad PromQL: how many fail per second
 * @property {string} total PromQL: how many there are per second
 */

/** @param {string} operations a pattern of names */
const requests = (operations) => `http_request_duration_seconds_count{operation=~"${operations}"}`;

/** @param {string} name @param {string} promise @param {string} operations @returns {Objective} */
const answered = (name, promise, operations) => ({
  name,
  share: 0.999,
  promise,
  bad: `sum(rate(${requests(operations).replace('}', ',status=~"5.."}')}[5m]))`,
  total: `sum(rate(${requests(operations)}[5m]))`,
});

/** @param {string} name @param {string} promise @param {string} histogram with its selector @param {string} seconds a bucket @returns {Objective} */
const within = (name, promise, histogram, seconds) => {
  const [metric = '', selector = '{}'] = histogram.split(/(?=\{)/);
  const total = `sum(rate(${metric}_count${selector === '{}' ? '' : selector}[5m]))`;
  const bucket = `${metric}_bucket${selector.replace('}', `${selector === '{}' ? '' : ','}le="${seconds}"}`)}`;
  return { name, share: 0.99, promise, bad: `${total} - sum(rate(${bucket}[5m]))`, total };
};

const durations = (/** @type {string} */ operations) => `http_request_duration_seconds{operation=~"${operations}"}`;
const READS = '(get|list|search|find|count|read).*';

/** @type {Objective[]} */
export const objectives = [
  answered('placing-answered', 'Placing an order does not fail', 'placeOrder'),
  within('placing-fast', 'Placing an order takes at most 1 s', durations('placeOrder'), '1'),
  answered('reading-answered', 'Reading does not fail', READS),
  within('reading-fast', 'Reading takes at most 0.5 s', durations(READS), '0.5'),
  answered('login-answered', 'Logging in does not fail', 'login'),
  within('login-fast', 'Logging in takes at most 2.5 s', durations('login'), '2.5'),
  within('frames-fast', 'A change of an order reaches stream clients within 1 s', 'stream_lag_seconds', '1'),
  {
    name: 'webhooks-fast',
    share: 0.99,
    promise: 'A change of an order is on its way to webhooks within a minute',
    // A share of time: attempts that fail are their receivers'.
    bad: 'max(webhook_log_behind_seconds) > bool 60',
    total: 'vector(1)',
  },
];

/**
 * Alerts by how much of the budget of 28 days is used up within `long`, if it still burns in `short`.
 * @typedef {{ alert: string, severity: 'page' | 'ticket', burns: { share: number, long: string, hours: number, short: string }[] }} Burn
 */

/** @type {Burn[]} */
const BURNS = [
  { alert: 'BudgetBurnsFast', severity: 'page', burns: [{ share: 0.02, long: '1h', hours: 1, short: '5m' }, { share: 0.05, long: '6h', hours: 6, short: '30m' }] },
  { alert: 'BudgetBurnsSlowly', severity: 'ticket', burns: [{ share: 0.1, long: '3d', hours: 72, short: '6h' }] },
];

/** Failures within the longer window below which nothing is told: a few failures of a quiet night use no budget that matters. */
const FEW = 10;

/** Returns Prometheus' rules of all objectives, as the content of a rule file. */
export function objectiveRules() {
  const rule = (/** @type {string} */ record, /** @type {string} */ expr, /** @type {string} */ objective = '') =>
    `      - record: ${record}\n        expr: ${expr}\n${objective && `        labels: { objective: ${objective} }\n`}`;
  const measured = objectives.map(({ name, share, promise, bad, total }) =>
    [
      `      # ${promise}.\n`,
      rule('objective:bad:rate5m', `(${bad}) or vector(0)`, name),
      rule('objective:total:rate5m', `(${total}) or vector(0)`, name),
      rule('objective:budget:ratio', `vector(${Number((1 - share).toFixed(6))})`, name),
    ].join(''));
  const windows = ['5m', '30m', '1h', '6h', '3d', WINDOW];
  const ratios = windows.map((window) => rule(`objective:bad:ratio_rate${window}`, `sum_over_time(objective:bad:rate5m[${window}]) / sum_over_time(objective:total:rate5m[${window}])`));
  const left = rule('objective:budget_left:ratio', `1 - objective:bad:ratio_rate${WINDOW} / objective:budget:ratio`);
  const alerts = BURNS.map(({ alert, severity, burns }) => {
    const each = burns.map(({ share, long, hours, short }) => {
      const factor = Number(((share * 28 * 24) / hours).toFixed(3));
      const burning = [long, short].map((window) => `objective:bad:ratio_rate${window} > ${factor} * objective:budget:ratio`);
      return `(${[...burning, `avg_over_time(objective:bad:rate5m[${long}]) * ${hours * 3_600} > ${FEW}`].join(' and ')})`;
    });
    const used = severity === 'page' ? 'within hours' : 'within weeks';
    return `      - alert: ${alert}
        expr: ${each.join(' or ')}
        labels: { severity: ${severity} }
        annotations:
          summary: 'The objective {{ $labels.objective }} will have used up its error budget ${used}'
          runbook_url: docs/operations.md#an-objective-is-at-risk
`;
  });
  return `# Generated by \`npm run dashboards\` from tools/dashboards/objectives.mjs: what the shop promises, over ${WINDOW}.
groups:
  - name: objectives
    interval: 1m
    rules:
${[...measured, ...ratios, left, ...alerts].join('')}`;
}
