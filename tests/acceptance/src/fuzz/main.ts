import { parseArgs } from 'node:util';
import { fuzz } from './run.js';

// The long version of fuzz.spec.ts, against a running shop: see tools/fuzz.

const { values } = parseArgs({ options: { url: { type: 'string' }, seed: { type: 'string' }, count: { type: 'string' }, only: { type: 'string' } } });
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(values.seed);
const count = Number(values.count ?? 100_000);
if (values.url === undefined || !Number.isSafeInteger(seed) || !Number.isSafeInteger(count)) throw new Error('--url, and whole numbers for --seed and --count');
const say = (line: string): unknown => process.stdout.write(`${line}\n`);

say(`seed ${seed}, ${count} requests${values.only === undefined ? '' : ` of ${values.only}`} to ${values.url}`);
const begun = performance.now();
const report = await fuzz({ url: values.url, seed, count, ...(values.only !== undefined && { only: values.only }), say });
for (const finding of report.findings) say(`\n${JSON.stringify(finding, null, 1)}\nreplay: npm run fuzz -- --seed ${finding.seed} --count 1 --only '${finding.operationId}'`);
const statuses = [...report.byStatus].sort(([one], [other]) => (one < other ? -1 : 1)).map(([status, times]) => `${status}: ${times}`);
say(`\n${report.operations} operations, ${statuses.join(', ')}`);
say(`slowest ${Math.round(report.slowestMs)} ms, ${((performance.now() - begun) / 1000).toFixed(0)} s`);
say(`seed ${seed}: ${report.tried} tried, ${report.findings.length} wrong`);
process.exitCode = report.findings.length === 0 ? 0 : 1;
