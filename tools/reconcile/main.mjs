// `npm run reconcile`: has catalog and identity compare themselves with the store and repair differences. Runs beside a shop; the
// services decide. Needs the build (npm start or npm run build).
import { randomUUID } from 'node:crypto';
import { createLogger } from '../../libs/platform/dist/logging.js';
import { Nats } from '../../libs/platform/dist/nats.js';
import { RpcClient } from '../../libs/platform/dist/rpc/client.js';
import { RpcContext } from '../../libs/platform/dist/rpc/context.js';
import { Deadline } from '../../libs/platform/dist/rpc/context.js';
import { explain, StartError } from '../start/errors.mjs';
import { natsOf, parseOptions, usage } from './options.mjs';
import { lookFirst, reconcile } from './reconcile.mjs';
import { isLeft, sentence, table } from './messages.mjs';

const USER = 'operator';
const CONNECT_LIMIT_MS = 10_000;
/** Enough for a page on which everything is repaired, on a busy machine. */
const CALL_LIMIT_MS = 60_000;

process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) {
      console.log(usage);
      return 0;
    }
    return await connected(await natsOf(process.env), (call) => run(call, options));
  } catch (error) {
    const isCoded = error instanceof Error && 'code' in error;
    console.error(isCoded ? `Stopped (${error.code}): ${error.message}` : explain(error));
    return 2;
  }
}

/**
 * @param {import('./reconcile.mjs').Call} call
 * @param {import('./options.mjs').Options} options
 */
async function run(call, { dryRun, many, json }) {
  if (!dryRun && !many) await refuseTooMany(call);
  /** @type {Map<import('./reconcile.mjs').Finding['drift'], { mended: number, left: number }>} */
  const counts = new Map();
  const checked = await reconcile(call, {
    dryRun,
    onFinding: (finding) => {
      const count = counts.get(finding.drift) ?? { mended: 0, left: 0 };
      count[isLeft(finding) ? 'left' : 'mended'] += 1;
      counts.set(finding.drift, count);
      const mark = isLeft(finding) ? 'TO DO     ' : 'repaired  ';
      console.log(json ? JSON.stringify(finding) : `${dryRun ? 'found     ' : mark}${sentence(finding)}`);
    },
  });
  const left = [...counts.values()].reduce((sum, one) => sum + one.left, 0);
  if (json) console.log(JSON.stringify({ checked, left, counts: Object.fromEntries(counts) }));
  else console.log(`\n${table(checked, counts)}\n${left === 0 ? 'Nothing is left to do.' : `${left} to do: see above.`}`);
  return left === 0 ? 0 : 1;
}

/** @param {import('./reconcile.mjs').Call} call */
async function refuseTooMany(call) {
  const { isSuspicious, going, checked } = await lookFirst(call);
  if (!isSuspicious) return;
  throw new StartError(
    `Nothing was repaired: ${going} of ${checked} plants and customers would be deleted, retired or closed. One of the databases may be ` +
      'empty or the wrong one. Check with --dry-run and restore it again; if everything is right, run this with --many.',
  );
}

/**
 * @template T
 * @param {Awaited<ReturnType<typeof natsOf>>} server
 * @param {(call: import('./reconcile.mjs').Call) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function connected({ url, password, ca }, work) {
  const logger = createLogger(USER, 'error', process.stderr);
  const limit = new AbortController();
  const overdue = setTimeout(() => {
    limit.abort(new StartError(`No connection to ${url} within ${CONNECT_LIMIT_MS / 1_000} s: check that the server runs and knows the user ${USER} with this password.`));
  }, CONNECT_LIMIT_MS);
  const login = password === undefined ? {} : { user: USER, password };
  const nats = await Nats.connect({ url, name: USER, ...(ca && { ca }), ...login }, logger, limit.signal).finally(() => clearTimeout(overdue));
  const client = new RpcClient(nats, USER, logger);
  try {
    const requestId = `reconcile-${randomUUID()}`;
    return await work((operation, payload) => client.call(operation, payload, new RpcContext(requestId, Deadline.in(CALL_LIMIT_MS))));
  } finally {
    client.close();
    await nats.close(1_000);
  }
}
