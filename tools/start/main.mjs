// `npm start`: the whole shop on this machine. Uses only Node, of any supported version, because it runs before packages
// are installed.
import { explain } from './errors.mjs';
import { parseOptions, usage } from './options.mjs';
import { Screen } from './screen.mjs';
import { openShop } from './shop.mjs';
import { ORDER, Shutdown, StopRequest, stopOnSignals, untilStopped } from './shutdown.mjs';

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const screen = new Screen();
  const shutdown = new Shutdown(ORDER, (step, error) => screen.complain(`Stopping failed (${step}): ${explain(error)}`));
  let failed = false;
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) {
      screen.say(usage);
      return 0;
    }
    screen.quiet = options.quiet;
    await openShop(options, { stop, shutdown, screen });
    await untilStopped(stop.signal);
  } catch (error) {
    failed = !(error instanceof StopRequest);
    if (failed) screen.complain(`\n${explain(error)}\n`);
    else screen.say('\nStopping ...');
    // Also ends operations that are still running.
    stop.abort(error);
  }
  const clean = await shutdown.run();
  if (!failed) screen.say('Stopped.');
  await screen.flush();
  return failed || !clean ? 1 : 0;
}
