import { parseArgs } from 'node:util';
import { findCostly } from './cost.js';
import { fuzz } from './run.js';

// The long versions of fuzz.spec.ts and cost.spec.ts, against a running shop: see tools/fuzz.

const { values } = parseArgs({ options: { url: { type: 'string' }, seed: { type: 'string' }, count: { type: 'string' }, only: { type: 'string' }, cost: { type: 'boolean' }, short: { type: 'boolean' } } });
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(values.seed);
const count = Number(values.count ?? 100_000);
if (values.url === undefined || !Number.isSafeInteger(seed) || !Number.isSafeInteger(count)) throw new Error('--url, and whole numbers for --seed and --count');
const say = (line: string): unknown => process.stdout.write(`${line}\n`);

if (values.cost) {
  const { RUN_FILE: runFile } = process.env;
  if (runFile === undefined) throw new Error('RUN_FILE must name the run file of the shop, in which its processes are.');
  const { tried, operations, excesses, costliest } = await findCostly({ url: values.url, runFile, isShort: values.short === true, ...(values.only !== undefined && { only: values.only }), say });
  say('\nThe costliest within the limit:');
  for (const { ms, process, operationId, what, status } of costliest) say(`${ms.toFixed(0)} ms of ${process}: ${operationId}, ${what} (${status})`);
  for (const { operationId, what, process, fault, request, status } of excesses) {
    say(`\n${operationId}, ${what}: ${process} ${fault}\n  ${request}\n  answered ${status}; again: npm run fuzz -- --cost --only '${operationId}'`);
  }
  say(`\n${operations} operations, ${tried} tried, ${excesses.length} too costly`);
  process.exit(excesses.length === 0 ? 0 : 1);
}

say(`seed ${seed}, ${count} requests${values.only === undefined ? '' : ` of ${values.only}`} to ${values.url}`);
const begun = performance.now();
const report = await fuzz({ url: values.url, seed, count, ...(values.only !== undefined && { only: values.only }), say });
for (const finding of report.findings) say(`\n${JSON.stringify(finding, null, 1)}\nreplay: npm run fuzz -- --seed ${finding.seed} --count 1 --only '${finding.operationId}'`);
const statuses = [...report.byStatus].sort(([one], [other]) => (one < other ? -1 : 1)).map(([status, times]) => `${status}: ${times}`);
say(`\n${report.operations} operations, ${statuses.join(', ')}`);
say(`slowest ${Math.round(report.slowestMs)} ms, ${((performance.now() - begun) / 1000).toFixed(0)} s`);
say(`seed ${seed}: ${report.tried} tried, ${report.findings.length} wrong`);
process.exitCode = report.findings.length === 0 ? 0 : 1;
