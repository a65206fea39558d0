// `npm run bench`: measures P1 to P10, S4, S8 and C1 to C4, most as a ratio to an anchor before and after it on the same machine.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../../tools/start/command.mjs';
import { explain, StartError } from '../../tools/start/errors.mjs';
import { Shutdown, stopOnSignals } from '../../tools/start/shutdown.mjs';
import { checkPlatform, pinnedNode, readyToolchain, ROOT } from '../../tools/start/toolchain.mjs';
import { temporaryFolder } from '../../tools/test/folder.mjs';
import { statusOf, tableOf } from './table.mjs';

const usage = `Measures the whole shop against anchors on this machine.

  npm run bench                       P1 to P10, C1 to C4 (the console), S4 and S8 (docs/security.md)
  npm run bench -- --only P3,P6       only these goals
  npm run bench -- --only S8 --attack replay   attacks of S8 with this in their name
  npm run bench -- --only P8 --orders 20000000   a shop with so many orders; each million takes 0.6 GB of disk
  npm run bench -- --quick            shorter loads, for trying; not for publication
  npm run bench -- --layers           the cost of a request in the gateway and in the store, layer by layer

Ends with 0 if all goals hold, with 1 if one is missed or its value impossible, and with 2 if some were measured too briefly to tell.`;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const { values } = parseArgs({ options: { only: { type: 'string' }, quick: { type: 'boolean' }, attack: { type: 'string' }, orders: { type: 'string' }, layers: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const shutdown = new Shutdown(/** @type {const} */ (['shop', 'temporary folder']), (step, error) => console.log(`Stopping (${step}): ${explain(error)}`));
  /** @type {import('./bench.mjs').Row[]} */
  const rows = [];
  let failed = false;
  try {
    checkPlatform();
    await readyToolchain({ signal: stop.signal, say: console.log });
    if (values.layers) {
      const main = join(ROOT, 'tests', 'load', 'layers', 'main.mjs');
      const quick = values.quick ? ['--quick'] : [];
      for (const args of [[main, ...quick], [main, '--store', ...quick]]) await run(pinnedNode(), args, { what: 'Measuring layers', cwd: ROOT, show: true, signal: stop.signal });
      return 0;
    }
    // After the build, since they import its output.
    const [{ Bench }, { goals }] = await Promise.all([import('./bench.mjs'), import('./goals/all.mjs')]);
    const asked = values.only?.split(',') ?? Object.keys(goals);
    const unknown = asked.filter((name) => !(name in goals));
    if (unknown.length > 0) throw new StartError(`Unknown goals: ${unknown.join(', ')}. The goals are ${Object.keys(goals).join(', ')}.`);
    // In a fixed order, so that runs can be compared.
    const measurements = Object.entries(goals).filter(([name]) => asked.includes(name));
    const bench = await Bench.open({ folder: temporaryFolder(shutdown), quick: values.quick === true, ...(values.attack !== undefined && { attack: values.attack }), ...(values.orders !== undefined && { orders: Number(values.orders) }), signal: stop.signal });
    shutdown.add('shop', () => bench.stack.end());
    const stopped = once(stop.signal, 'abort').then(() => stop.signal.throwIfAborted());
    for (const [name, measure] of measurements) {
      console.log(`${name} …`);
      rows.push(...((await Promise.race([measure(bench), stopped])) ?? []));
    }
  } catch (error) {
    failed = true;
    console.log(`\n${explain(error)}`);
  }
  await shutdown.run();
  if (rows.length === 0) return failed ? 1 : 0;
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), node: nodeOfServices() };
  console.log(`\n${machine.cores} cores of ${machine.cpu}, ${machine.memoryGiB} GiB, Node ${machine.node}\n\n${tableOf(rows)}`);
  // Only whole runs are recorded.
  if (!failed && !values.quick && values.only === undefined) console.log(`\nWritten to ${write({ at: new Date().toISOString(), machine, rows })}`);
  return failed ? 1 : statusOf(rows);
}

/** Returns the version of Node that services and anchors run on, which may differ from that of this process. */
function nodeOfServices() {
  return execFileSync(pinnedNode(), ['--version'], { encoding: 'utf8' }).trim();
}

/** @param {object} results */
function write(results) {
  const folder = join(ROOT, 'docs', 'performance');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'latest.json');
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  return file;
}
