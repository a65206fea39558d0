import { createInterface } from 'node:readline';
import { join } from 'node:path';
import type { Arena } from './arena.js';
import type { Violation } from './checks/violation.js';
import { now, pause, until } from './clock.js';
import { Consumer } from './consumer.js';
import { type Call, eventTypes, type FinalOrder } from './history.js';
import type { PlacingCall } from './programs/place-orders.js';
import { startProgram } from './programs/program.js';
import type { Random } from './random.js';
import type { Link } from './stack.js';
import { maybeKeyed } from './stubborn.js';

/** Of a call of the library, with all its repetitions. */
const deadlineMs = 20_000;
/** Beyond it, on a machine that has no time for the program. */
const slackMs = 5_000;
const longestLifeMs = 5_000;
/** What staff do a second with the orders that there are. */
const staffPerSecond = 12;

interface Amount {
  readonly orders: number;
  readonly perSecond: number;
  /** Consumers work on an event for so long at most. */
  readonly workMs?: number;
}

/** What programs did with the client library. */
export interface LibraryUse {
  readonly plantId: number;
  readonly wanted: number;
  /** Ids that the library returned. */
  readonly answered: readonly number[];
  readonly consumers: readonly Pick<Consumer, 'name' | 'events' | 'gaps' | 'crashes' | 'lives'>[];
  readonly calls: number;
  readonly errors: number;
  /** Ends of calls that no library may have. */
  readonly wrong: readonly Violation[];
}

/**
 * Programs that know the shop through the client library alone: one places orders, two follow events and are killed again and again, and
 * the network between them and the shop breaks. Staff pay and deliver meanwhile.
 *
 * @returns what begins it, when the consumers get everything from now on
 */
export async function prepareLibrary(arena: Arena, { orders: wanted, perSecond, workMs = 4 }: Amount): Promise<() => Promise<LibraryUse>> {
  const { stack, gatewayUrl, streamUrls, library } = arena.ground;
  const random = arena.random.fork();
  // The network of the programs breaks all the time: how soon the shop serves again is for other trials to say.
  arena.demands = { servedShare: 0, recoveryMs: Infinity };
  arena.deadlineMs = Math.max(arena.deadlineMs, deadlineMs + slackMs);
  const plantId = await arena.plant(wanted * 2);
  const [toGateway, toStream] = await Promise.all([stack.networkTo(gatewayUrl), stack.networkTo(...streamUrls)]);
  const tag = random.between(0, 2 ** 31);
  const follower = { library, url: gatewayUrl, streamUrl: `http://127.0.0.1:${toStream.port}`, workMs };
  const { consumers } = arena;
  // A WebSocket can only show an API key: with any other credential the library uses Server-Sent Events.
  consumers.push(
    new Consumer('consumer with an API key', { ...follower, journal: join(stack.logs, `consumer-${tag}-1.ndjson`), credential: { apiKey: 'special-key' }, types: eventTypes, keeps: 'loop' }),
    new Consumer('consumer with a token', { ...follower, journal: join(stack.logs, `consumer-${tag}-2.ndjson`), credential: { clientId: 'plant-admin', clientSecret: 'plant-secret' }, keeps: 'event' }),
  );
  const answered: number[] = [];
  const wrong: Violation[] = [];
  let [calls, errors] = [0, 0];
  const note = (line: PlacingCall): void => {
    calls += 1;
    if (line.error) errors += 1;
    if (line.order) answered.push(line.order.id);
    const fault = faultOf(line);
    if (fault !== undefined) wrong.push({ rule: 'answers', what: `the client library: ${fault}` });
    arena.calls.push(callOf(line, { client: arena.staff.name, plantId, requestId: `library-${tag}-${calls}` }));
  };
  await Promise.all(consumers.map((one) => one.begun()));
  return async () => {
    let isOver = false;
    const placing = placeOrders({ library, url: `http://127.0.0.1:${toGateway.port}`, plantId, orders: wanted, perSecond, deadlineMs }, note).finally(() => (isOver = true));
    const over = (): boolean => isOver;
    await Promise.all([
      placing,
      fulfil(arena, random.fork(), answered, over),
      breakNetwork(toGateway, () => random.between(1_000, 3_000), over),
      breakNetwork(toStream, () => random.between(1_500, 4_000), over),
      ...consumers.map((one) => killAgain(one, random.fork(), over)),
    ]);
    return { plantId, wanted, answered, consumers, calls, errors, wrong };
  };
}

/** What is wrong with it: every order that was wanted has its own answer and exists, nothing else does, and nobody saw a gap that is none. */
export function faultsOf({ plantId, wanted, answered, consumers, wrong }: Omit<LibraryUse, 'calls' | 'errors'>, orders: readonly FinalOrder[]): readonly Violation[] {
  const exist = orders.filter((order) => order.plantId === plantId).length;
  const different = new Set(answered).size;
  return [
    ...wrong,
    ...(different === wanted && answered.length === wanted && exist === wanted
      ? []
      : [{ rule: 'once-per-key', what: `the client library: ${wanted} orders were wanted, ${answered.length} were answered, ${different} of them different, and ${exist} exist` } as const]),
    ...consumers.flatMap(({ name, gaps, crashes }) => [
      ...gaps.map((reason): Violation => ({ rule: 'sockets', what: `${name} was told of a gap where nothing is missing: ${reason}` })),
      ...crashes.map((what): Violation => ({ rule: 'sockets', what: `${name}: ${what}` })),
    ]),
  ];
}

/** Runs the program that places orders, to its end. */
async function placeOrders(job: object, note: (line: PlacingCall) => void): Promise<void> {
  const program = startProgram('place-orders', job);
  const ended = new Promise<number | null>((resolve) => program.once('exit', resolve));
  for await (const line of createInterface(program.stdout)) note(JSON.parse(line) as PlacingCall);
  const code = await ended;
  if (code !== 0) throw new Error(`the program that places orders ended with ${code ?? 'a signal'}`);
}

/** An end of a call that is neither an order nor an error that says whether to ask again. */
function faultOf({ order, error, from, to }: PlacingCall): string | undefined {
  if (to - from > deadlineMs + slackMs) return `a call took ${((to - from) / 1_000).toFixed(1)} s`;
  if (order || !error) return undefined;
  if (error.outcome === undefined) return `not an error of its own: ${error.text}`;
  if (error.outcome === 'refused') return `refused: ${error.text}`;
  return error.outcome === 'unknown' && error.key === undefined ? `unknown, and there is no key to ask again with: ${error.text}` : undefined;
}

/** As the checks know calls: `unknown` and `not-done` are what the shop says by 503. */
function callOf({ from, to, key, order, error }: PlacingCall, known: { client: string; plantId: number; requestId: string }): Call {
  const { client, plantId, requestId } = known;
  const used = key ?? error?.key;
  return {
    client,
    ask: { kind: 'place', plantId, quantity: 1, ...(used !== undefined && { key: used }) },
    from: from - performance.timeOrigin,
    to: to - performance.timeOrigin,
    requestId,
    answer: order
      ? { status: 200, hasRetryAfter: false, isReplayed: order.isReplayed, order: { id: order.id, status: order.status } }
      : { status: 503, code: error?.outcome === 'not-done' ? 'unavailable' : 'outcome-unknown', hasRetryAfter: true, isReplayed: false },
  };
}

async function fulfil(arena: Arena, random: Random, orders: readonly number[], isOver: () => boolean): Promise<void> {
  const { staff } = arena;
  let next = 0;
  while (!isOver()) {
    await pause(1_000 / staffPerSecond);
    const id = orders[next];
    if (id === undefined) continue;
    next += 1;
    await maybeKeyed(random, (key) => staff.pay(id, `library-${id}`, key === undefined ? {} : { key }));
    if (random.chance(0.5)) await maybeKeyed(random, (key) => staff.deliver(id, key));
  }
}

/** What is asked for a moment is done, and nobody is told; then every connection breaks. */
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

/** A slow machine gives each life the time to handle something, or to find that it cannot. */
async function killAgain(consumer: Consumer, random: Random, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await until(() => consumer.hasHandled || isOver(), longestLifeMs, 20);
    await pause(random.between(0, 3_000));
    consumer.kill();
  }
}
