/**
 * A node in auto_explain's JSON.
 * @typedef {{ 'Node Type': string, 'Relation Name'?: string, 'Index Name'?: string, 'Actual Rows': number, 'Actual Loops': number,
 *   'Rows Removed by Filter'?: number, 'Shared Hit Blocks': number, 'Shared Read Blocks': number, Plans?: PlanNode[] }} PlanNode
 */

/**
 * @typedef {object} Explained
 * @property {string} database
 * @property {string} text the statement on one line
 * @property {number} times number of executions
 * @property {number} blocks 8 KiB blocks of the execution that touched most, cached or not
 * @property {PlanNode} plan of that execution
 */

/** More rows than a lookup should scan or sort. */
const MANY = 5_000;

/**
 * Returns the distinct statements in a part of Postgres' log.
 * @param {string} log @param {string[]} databases @returns {Explained[]}
 */
export function statementsIn(log, databases) {
  /** @type {Map<string, Explained>} */
  const found = new Map();
  // Each entry begins with `<time> [<pid>] <user>@<database>` and continues in lines that begin with a tab. Statements of the
  // administrator are this tool's own.
  for (const entry of log.split(/\n(?!\t)/)) {
    const [, database = '', json] = / (?!postgres)\w+@(\S+) +LOG: {2}duration: [\d.]+ ms {2}plan:\n([\s\S]*)$/.exec(entry) ?? [];
    if (json === undefined || !databases.includes(database)) continue;
    /** @type {{ 'Query Text': string, Plan: PlanNode }} */
    const { 'Query Text': query, Plan: plan } = JSON.parse(json);
    const text = query.replace(/--[^\n]*\n/g, ' ').replace(/\s+/g, ' ').trim();
    const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    const key = `${database} ${text}`;
    const before = found.get(key);
    if (!before) found.set(key, { database, text, times: 1, blocks, plan });
    else {
      before.times++;
      if (blocks > before.blocks) Object.assign(before, { blocks, plan });
    }
  }
  return [...found.values()].sort((a, b) => databases.indexOf(a.database) - databases.indexOf(b.database) || b.blocks - a.blocks);
}

/** @param {PlanNode} plan @returns {PlanNode[]} the node and its descendants */
const nodesOf = (plan) => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

const rowsOf = (/** @type {PlanNode} */ node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];

/** Describes how a statement finds its rows, such as `plants by plants_by_status`, `stock as a whole`. @param {PlanNode} plan */
function pathsOf(plan) {
  const paths = nodesOf(plan).flatMap((node) => {
    if (node['Node Type'] === 'Seq Scan') return [`${node['Relation Name']} as a whole`];
    if (node['Index Name']) return [`${node['Relation Name'] ?? ''} by ${node['Index Name']}`.trim()];
    return [];
  });
  return [...new Set(paths)];
}

/**
 * Returns the statements whose cost grows with the shop.
 * @param {Explained[]} statements @param {Record<string, Record<string, number>>} sizes rows of each table, by database
 * @returns {{ database: string, text: string, why: string }[]}
 */
export function wasteful(statements, sizes) {
  return statements.flatMap(({ database, text, plan }) => {
    const whole = nodesOf(plan).find((node) => node['Node Type'] === 'Seq Scan' && (sizes[database]?.[node['Relation Name'] ?? ''] ?? 0) > MANY);
    const many = nodesOf(plan).find((node) => rowsOf(node) > MANY);
    if (whole) return [{ database, text, why: `reads ${whole['Relation Name']} as a whole` }];
    if (many) return [{ database, text, why: `${many['Node Type']} of ${rowsOf(many)} rows` }];
    return /\bLIMIT\s+\S+\s+OFFSET\b/i.test(text) ? [{ database, text, why: 'pages by offset' }] : [];
  });
}

const short = (/** @type {string} */ text) => (text.length > 110 ? `${text.slice(0, 107)}…` : text).replaceAll('|', '\\|').replaceAll('`', "'");

/** Returns docs/performance/query-plans.txt. @param {Explained[]} statements @param {import('./large-data.mjs').Size} size */
export function tableOf(statements, { plants, orders }) {
  const lines = [...new Set(statements.map(({ database }) => database))].flatMap((database) => [
    `\n${database}\n`,
    '| statement | rows found by | rows | blocks |',
    '|---|---|---|---|',
    ...statements
      .filter((one) => one.database === database)
      .map(({ text, plan, blocks }) => `| \`${short(text)}\` | ${pathsOf(plan).join(', ') || 'no table'} | ${plan['Actual Rows']} | ${blocks} |`),
  ]);
  return `Query plans

How Postgres executes every statement of the services, including background loops, with ${plants.toLocaleString('en')}
plants, ${orders.toLocaleString('en')} orders and 100,000 customers, one of whom has one order in 25. \`npm run plans\`
writes this page and fails if a statement scans a whole large table, handles more than ${MANY.toLocaleString('en')} rows or
pages by offset. Postgres logs the plans that prepared statements really used (auto_explain); of
repeated statements the page shows the run that touched most blocks (8 KiB, cached or not).
${lines.join('\n')}
`;
}
