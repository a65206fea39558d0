// `npm run listen`: prints order events as they arrive. Uses only Node, no packages.
import { explain, StartError } from '../start/errors.mjs';
import { stopOnSignals } from '../start/shutdown.mjs';
import { follow, Refused } from './follow.mjs';
import { parseOptions, streamOf, usage } from './options.mjs';
import { isPainted, lineOf, painter } from './event-line.mjs';

const stop = stopOnSignals();
// `npm run listen | head` closes the pipe.
process.stdout.on('error', () => process.exit(0));
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) {
      console.log(usage);
      return 0;
    }
    if (typeof WebSocket === 'undefined') throw new StartError('This Node has no WebSocket: run it as npm run listen.');
    const colours = isPainted(process.stdout);
    const state = painter(isPainted(process.stderr));
    await follow(
      {
        ...(await streamOf(options, process.env)),
        cursor: options.cursor,
        onFrame: (frame, text) => console.log(options.json ? text : lineOf(frame, colours)),
        // To standard error, so that the events can be piped.
        onState: (text) => console.error(state(90, text)),
      },
      stop.signal,
    );
    return 0;
  } catch (error) {
    console.error(error instanceof Refused ? error.message : explain(error));
    return 1;
  }
}
