// `npm run plants -- import FILE | export FILE`: the catalogue as a file. Uses only Node, no packages.
import { explain } from '../start/errors.mjs';
import { stopOnSignals } from '../start/shutdown.mjs';
import { exportTo } from './export.mjs';
import { importFrom } from './import.mjs';
import { parseOptions, shopOf, usage } from './options.mjs';

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) {
      console.log(usage);
      return 0;
    }
    const shop = { ...(await shopOf(options, process.env)), signal: stop.signal };
    const file = { path: options.file, format: options.format };
    return options.command === 'import' ? await importFrom(file, shop) : await exportTo(file, shop);
  } catch (error) {
    console.error(explain(error));
    return 1;
  }
}
