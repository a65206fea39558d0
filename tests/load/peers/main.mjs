// `npm run peers`: the same orders in this shop, in Vendure and in Medusa (docs/comparison.md).
import { parseArgs } from 'node:util';
import { explain, StartError } from '../../../tools/start/errors.mjs';
import { Shutdown, stopOnSignals, untilStopped } from '../../../tools/start/shutdown.mjs';
import { checkPlatform, readyToolchain } from '../../../tools/start/toolchain.mjs';
import { subfolder, temporaryFolder } from '../../../tools/test/folder.mjs';

const usage = `Measures orders in this shop, in Vendure and in Medusa, one after the other, on this machine.

  npm run peers                  all, in ten minutes; the first time npm installs them into the cache
  npm run peers -- --only own,medusa
  npm run peers -- --quick       for trying; not for publication`;

const PLANTS = 100;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const { values } = parseArgs({ options: { only: { type: 'string' }, quick: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const shutdown = new Shutdown(/** @type {const} */ (['shop', 'temporary folder']), (step, error) => console.log(`Stopping (${step}): ${explain(error)}`));
  let code = 1;
  try {
    checkPlatform();
    await readyToolchain({ signal: stop.signal, say: console.log });
    // After the build, since they import its output.
    const [{ shops }, { measureShop, RACERS, UNITS }] = await Promise.all([import('./shops.mjs'), import('./measure.mjs')]);
    const asked = values.only?.split(',') ?? Object.keys(shops);
    const how = values.quick ? { seconds: 6, crashes: 1 } : { seconds: 30, crashes: 2 };
    const seed = { plants: PLANTS, scarce: values.quick ? 2 : 5, units: UNITS, customers: RACERS };
    const folder = temporaryFolder(shutdown);
    /** @type {Figures[]} */
    const columns = [];
    for (const name of asked) {
      const open = shops[name];
      if (!open) throw new StartError(`Unknown shop: ${name}. The shops are ${Object.keys(shops).join(', ')}.`);
      const shop = await open(subfolder(folder, name), { ...seed, signal: stop.signal, say: console.log, atEnd: (end) => shutdown.add('shop', end) });
      const found = await Promise.race([measureShop(shop, how), untilStopped(stop.signal)]);
      console.log(JSON.stringify(found, null, 2));
      columns.push(found);
      await shop.stop();
    }
    console.log(`\n${tableOf(columns)}`);
    code = 0;
  } catch (error) {
    console.log(`\n${explain(error)}`);
  }
  await shutdown.run();
  return code;
}

/** @typedef {Awaited<ReturnType<typeof import('./measure.mjs').measureShop>>} Figures */

/** @param {Figures[]} columns @returns {string} a Markdown table */
function tableOf(columns) {
  const overIn = (/** @type {Figures} */ { races }, /** @type {boolean} */ isCrash) => races.filter((one) => one.isCrash === isCrash).map(({ oversold }) => oversold).join(', ');
  /** @type {[string, (figures: Figures) => string | number][]} */
  const rows = [
    ['16 clients: orders/s', ({ busy }) => busy.perSecond.toFixed(1)],
    ['CPU of an order, ms', ({ busy }) => busy.cpuMs.toFixed(2)],
    ['p50, ms', ({ busy }) => busy.p50.toFixed(1)],
    ['p99, ms', ({ busy }) => busy.p99.toFixed(1)],
    ['one client: CPU of an order, ms', ({ alone }) => alone.cpuMs.toFixed(2)],
    ['p50, ms', ({ alone }) => alone.p50.toFixed(1)],
    ['p99, ms', ({ alone }) => alone.p99.toFixed(1)],
    ['units oversold, each race', (figures) => overIn(figures, false)],
    ['the same with a crash', (figures) => overIn(figures, true)],
    ['memory, MB', ({ memoryBytes }) => Math.round(memoryBytes / 1e6)],
    ['idle, share of a core', ({ idleCores }) => idleCores.toFixed(3)],
    ['start, s', ({ startMs }) => (startMs / 1_000).toFixed(1)],
    ['disk of an order, kB', ({ diskBytes }) => (diskBytes / 1e3).toFixed(1)],
  ];
  const lines = [['', ...columns.map(({ title }) => title)], ['---', ...columns.map(() => '---')], ...rows.map(([what, of]) => [what, ...columns.map(of)])];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
