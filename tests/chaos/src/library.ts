import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { becomesTrue } from '@plant-shop/testing/until';
import type { Trial } from './trial.js';
import type { Violation } from './checks/violation.js';
import { now, pause } from './clock.js';
import { Consumer } from './consumer.js';
import { type Call, eventTypes, type FinalOrder } from './history.js';
import type { PlacingCall } from './programs/place-orders.js';
import { startProgram } from './programs/program.js';
import type { Random } from './random.js';
import type { Link } from './stack.js';
import { withOptionalKey } from './retries.js';

/** Deadline of a library call, retries included. */
const deadlineMs = 20_000;
/** Tolerance beyond the deadline, for a busy machine. */
const slackMs = 5_000;
const maxWaitBeforeKillMs = 5_000;
const maxWaitForEventMs = 1_000;
/** Orders that staff process per second. */
const staffPerSecond = 12;

interface LibraryLoad {
  readonly orders: number;
  readonly perSecond: number;
  /** Longest time that a consumer works on an event. */
  readonly workMs?: number;
}

/** Results of the programs that used the client library. */
export interface LibraryUse {
  readonly plantId: number;
  readonly wanted: number;
  /** Ids that the library returned. */
  readonly answered: readonly number[];
  readonly consumers: readonly Pick<Consumer, 'name' | 'events' | 'gaps' | 'crashes' | 'lives'>[];
  readonly calls: number;
  readonly errors: number;
  /** Calls that ended in a way that the library must not allow. */
  readonly wrong: readonly Violation[];
}

/**
 * Prepares programs that use the shop only through the client library: one places orders, two, or three with a browser, follow events and are killed repeatedly.
 * The network between them and the shop breaks at times. Staff pay and deliver the orders.
 *
 * @returns the function that starts the load; until then the consumers are connected and receive every later event
 */
export async function prepareLibrary(trial: Trial, { orders: wanted, perSecond, workMs = 4 }: LibraryLoad): Promise<() => Promise<LibraryUse>> {
  const { stack, gatewayUrl, streamUrls, library, browser } = trial.testbed;
  const random = trial.random.fork();
  // Faults and broken networks leave no quiet time whose share could be judged: every order must be answered instead.
  trial.objectives = { servedShare: 0, recoveryMs: deadlineMs };
  trial.deadlineMs = Math.max(trial.deadlineMs, deadlineMs + slackMs);
  const plantId = await trial.plant(wanted * 2);
  const [toGateway, toStream] = await Promise.all([stack.networkTo(gatewayUrl), stack.networkTo(...streamUrls)]);
  const tag = random.between(0, 2 ** 31);
  const follower = { library, url: gatewayUrl, streamUrl: `http://127.0.0.1:${toStream.port}`, workMs };
  const { consumers } = trial;
  // A WebSocket can carry only an API key: with any other credential the library uses Server-Sent Events.
  consumers.push(
    new Consumer('consumer with an API key', { ...follower, journal: join(stack.logs, `consumer-${tag}-1.ndjson`), credential: { apiKey: 'special-key' }, types: eventTypes, savesCursorOf: 'loop' }),
    new Consumer('consumer with a token', { ...follower, journal: join(stack.logs, `consumer-${tag}-2.ndjson`), credential: { clientId: 'plant-admin', clientSecret: 'plant-secret' }, savesCursorOf: 'event' }),
  );
  if (browser) {
    consumers.push(new Consumer('consumer in Chromium', { ...follower, journal: join(stack.logs, `consumer-${tag}-3.ndjson`), credential: { apiKey: 'special-key' }, savesCursorOf: 'event', browser }));
  }
  const answered: number[] = [];
  const wrong: Violation[] = [];
  let [calls, errors] = [0, 0];
  const note = (line: PlacingCall): void => {
    calls += 1;
    if (line.error) errors += 1;
    if (line.order) answered.push(line.order.id);
    const fault = violationOf(line);
    if (fault !== undefined) wrong.push({ rule: 'answers', what: `the client library: ${fault}` });
    trial.calls.push(callOf(line, { client: trial.staff.name, plantId, requestId: `library-${tag}-${calls}` }));
  };
  await Promise.all(consumers.map((one) => one.started()));
  return async () => {
    let isOver = false;
    const placing = placeOrders({ library, url: `http://127.0.0.1:${toGateway.port}`, plantId, orders: wanted, perSecond, deadlineMs }, note).finally(() => (isOver = true));
    const over = (): boolean => isOver;
    await Promise.all([
      placing,
      fulfil(trial, random.fork(), answered, over),
      breakNetwork(toGateway, () => random.between(1_000, 3_000), over),
      breakNetwork(toStream, () => random.between(1_500, 4_000), over),
      ...consumers.map((one) => killAgain(one, random.fork(), over)),
    ]);
    return { plantId, wanted, answered, consumers, calls, errors, wrong };
  };
}

/** Every wanted order must have its own answer and exist, no other order may exist, and no consumer may get a gap or crash. */
export function violationsOf({ plantId, wanted, answered, consumers, wrong }: Omit<LibraryUse, 'calls' | 'errors'>, orders: readonly FinalOrder[]): readonly Violation[] {
  const exist = orders.filter((order) => order.plantId === plantId).length;
  const different = new Set(answered).size;
  return [
    ...wrong,
    ...(different === wanted && answered.length === wanted && exist === wanted
      ? []
      : [{ rule: 'once-per-key', what: `the client library: ${wanted} orders were wanted, ${answered.length} were answered, ${different} of them different, and ${exist} exist` } as const]),
    ...consumers.flatMap(({ name, gaps, crashes }) => [
      ...gaps.map((reason): Violation => ({ rule: 'sockets', what: `${name} got a gap although no event is missing: ${reason}` })),
      ...crashes.map((what): Violation => ({ rule: 'sockets', what: `${name}: ${what}` })),
    ]),
  ];
}

/** Runs the program that places orders until it exits. */
async function placeOrders(job: object, note: (line: PlacingCall) => void): Promise<void> {
  const program = startProgram('place-orders', job);
  const ended = new Promise<number | null>((resolve) => program.once('exit', resolve));
  for await (const line of createInterface(program.stdout)) note(JSON.parse(line) as PlacingCall);
  const code = await ended;
  if (code !== 0) throw new Error(`the program that places orders exited with ${code ?? 'a signal'}`);
}

/** Describes what is wrong with a call's end: it must be an order, or a typed error that says whether to retry; in time. */
function violationOf({ order, error, from, to }: PlacingCall): string | undefined {
  if (to - from > deadlineMs + slackMs) return `a call took ${((to - from) / 1_000).toFixed(1)} s`;
  if (order || !error) return undefined;
  if (error.outcome === undefined) return `not a typed error: ${error.text}`;
  if (error.outcome === 'refused') return `refused: ${error.text}`;
  return error.outcome === 'unknown' && error.key === undefined ? `unknown outcome without a key to retry with: ${error.text}` : undefined;
}

/** Converts to the checks' format: the outcomes `unknown` and `not-done` correspond to the shop's 503 problems. */
function callOf({ from, to, key, order, error }: PlacingCall, known: { client: string; plantId: number; requestId: string }): Call {
  const { client, plantId, requestId } = known;
  const used = key ?? error?.key;
  return {
    client,
    request: { kind: 'place', plantId, quantity: 1, ...(used !== undefined && { key: used }) },
    from: from - performance.timeOrigin,
    to: to - performance.timeOrigin,
    requestId,
    answer: order
      ? { status: 200, hasRetryAfter: false, isReplayed: order.isReplayed, order: { id: order.id, status: order.status } }
      : { status: 503, code: error?.outcome === 'not-done' ? 'unavailable' : 'outcome-unknown', hasRetryAfter: true, isReplayed: false },
  };
}

async function fulfil(trial: Trial, random: Random, orders: readonly number[], isOver: () => boolean): Promise<void> {
  const { staff } = trial;
  let next = 0;
  while (!isOver()) {
    await pause(1_000 / staffPerSecond);
    const id = orders[next];
    if (id === undefined) continue;
    next += 1;
    await withOptionalKey(random, (key) => staff.pay(id, `library-${id}`, key === undefined ? {} : { key }));
    if (random.chance(0.5)) await withOptionalKey(random, (key) => staff.deliver(id, key));
  }
}

/** For 150 ms requests are executed but their answers are lost; then every connection breaks. */
async function breakNetwork(network: Link, restMs: () => number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const end = now() + 150;
    while (now() < end) {
      await network.deafen();
      await pause(5);
    }
    await network.drop();
    await pause(restMs());
  }
}

/**
 * Waits before each kill until the consumer has handled something, so that it makes progress on a slow machine too. Kills a consumer
 * that saves cursors first while it handles an event, if one arrives in time: only then does a cursor that was saved too early lose it.
 */
async function killAgain(consumer: Consumer, random: Random, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await becomesTrue(() => consumer.hasHandled || isOver(), maxWaitBeforeKillMs, 20);
    await pause(random.between(0, 3_000));
    if (consumer.savesCursorFirst) await becomesTrue(() => consumer.isHandling || isOver(), maxWaitForEventMs, 1);
    consumer.kill();
  }
}
