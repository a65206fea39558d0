import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from '@plant-shop/contracts/problem';
import { overloaded } from '@plant-shop/platform/errors';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Registry } from 'prom-client';

export interface ConcurrencyLimits {
  readonly requests: number;
  readonly bodyBytes: number;
  /** The part that one client may use of each, while the whole is less than half used; beyond that a fifth of it. 1: no client is limited, nor are its calls. */
  readonly clientShare: number;
}

/** What a client uses, or all clients. */
interface Usage {
  /** Requests that can be worked on: they have no body, or it has arrived. */
  working: number;
  /** Requests whose body is arriving. They cost a socket and the bytes that arrived. */
  receiving: number;
  bodyBytes: number;
  /** Weight of the calls of services that have not been answered. */
  calls: number;
}

interface WaitingCall {
  readonly weight: number;
  readonly begin: () => void;
}

interface ClientUsage extends Usage {
  /** The oldest first. */
  readonly waiting: WaitingCall[];
}

/**
 * A request's share of the limits. `Routes` acquires it and begins the work; http/server.ts reserves for bodies, uploads and transfers for what they
 * hold; `RpcForwarder`, cached reads and agents call in turn; start.ts releases it when the request ends.
 */
export interface Slot {
  readonly client: string;
  readonly usage: ClientUsage;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly admittedAt: number;
  /** What the socket had read by then. */
  readonly bytesReadBefore: number;
  /** Whether the body is read while the request is worked on: an upload or an import. */
  readonly streams: boolean;
  phase: 'receiving' | 'working' | 'released';
  bodyBytes: number;
  /** Of a streamed body: for how long the shop has waited for more of it. */
  waitedMs: number;
  /** Whether the socket has a timer because bytes of the response wait. */
  isTimed: boolean;
  /** A message of an agent that has its turn, also for what it calls. */
  hasTurn?: boolean;
  /** Its index among the slots. */
  index: number;
}

/** How fast clients must send and read. Milliseconds, and bytes a second. */
const paces = {
  /** For a whole body that is read into memory. */
  bodyMs: 30_000,
  /** For a streamed body, on average, without the time in which the shop does not read. */
  streamedBytesPerSecond: 1_000,
  /** Time before that average counts. */
  graceMs: 10_000,
  /** Without progress while bytes of the response wait. */
  responseMs: 30_000,
  checkMs: 1_000,
};

/** Requests that a client may always have, and bytes of their bodies: one body of the largest size. */
const leastRequests = 16;
const leastBodyBytes = 896 * 1024;

/**
 * Weight of the calls of services at once, of all clients; 1 is a read of one thing. Each client may have 2, or one call of any weight, even beyond
 * it, so that a client which asks for little never waits. What is called at once gets equal shares of the processors, so this also bounds
 * what the costliest requests of one client take from the others.
 */
const mostCalls = 32;
const leastCalls = 2;
/** That of one client while another has a request: those of others wait behind it. It keeps services busy. */
const sharedCalls = 8;
/** Bytes of a call or its answer that weigh as much as a read of one thing. */
const bytesPerWeight = 16 * 1024;

/** Returns the weight of a call with so many bytes, or with such an answer. */
export const weightOfBytes = (bytes: number): number => Math.ceil(bytes / bytesPerWeight);

/**
 * Limits concurrent requests and the bytes of their bodies, over all clients and for each, so that one client cannot take what the others
 * need. Excess requests are rejected before any work is done, so that accepted requests are answered in time and memory stays bounded.
 */
export class ConcurrencyLimiter {
  private readonly all: Usage = { working: 0, receiving: 0, bodyBytes: 0, calls: 0 };
  private readonly clients = new Map<string, ClientUsage>();
  /** Clients of which a call waits for its turn. */
  private readonly waiting = new Set<ClientUsage>();
  /**
   * Those that are not released. No Set: one that is often written is copied often, and each copy that V8 has promoted keeps requests
   * that have ended from being collected young: a quarter of the CPU of an order in the gateway.
   */
  private readonly slots: Slot[] = [];

  constructor(
    private readonly max: ConcurrencyLimits,
    private readonly pace = paces,
  ) {
    setInterval(() => this.checkPaces(), pace.checkMs).unref();
  }

  /**
   * Takes a slot, which must be released at the end of the request.
   * @param client the key of its share
   * @param body how its body is read, if it has one
   * @throws CodedError `overloaded`, `too-many-in-flight`
   */
  acquire(client: string, request: IncomingMessage, response: ServerResponse, body?: 'whole' | 'streamed'): Slot {
    const usage = this.clients.get(client) ?? { working: 0, receiving: 0, bodyBytes: 0, calls: 0, waiting: [] };
    const phase = body === undefined ? 'working' : 'receiving';
    this.admit(usage, phase, response);
    this.clients.set(client, usage);
    this.all[phase]++;
    usage[phase]++;
    const slot: Slot = {
      client,
      usage,
      request,
      response,
      admittedAt: performance.now(),
      bytesReadBefore: request.socket.bytesRead,
      streams: body === 'streamed',
      phase,
      bodyBytes: 0,
      waitedMs: 0,
      isTimed: false,
      index: this.slots.length,
    };
    this.slots.push(slot);
    return slot;
  }

  /** Call when the handler of a request with a body is about to run: its body has arrived, unless it is streamed. @throws CodedError `overloaded`, `too-many-in-flight` */
  beginWork(slot: Slot): void {
    if (slot.phase !== 'receiving' || slot.streams) return;
    this.admit(slot.usage, 'working', slot.response);
    this.leavePhase(slot);
    slot.phase = 'working';
    this.all.working++;
    slot.usage.working++;
  }

  /**
   * Calls a service for a request as soon as it is its client's turn.
   * @throws CodedError `overloaded` if the request has ended by then
   */
  async inTurn<T>(slot: Slot | undefined, weight: number, call: () => Promise<T>): Promise<T> {
    if (!slot) return call();
    if (slot.hasTurn === true) {
      if (slot.phase === 'released') throw overloaded('The gateway');
      return call();
    }
    const { usage } = slot;
    if (usage.waiting.length === 0 && this.mayCall(usage, weight)) this.begin(usage, weight);
    else {
      this.waiting.add(usage);
      await new Promise<void>((begin) => usage.waiting.push({ weight, begin }));
    }
    try {
      if (slot.phase === 'released') throw overloaded('The gateway');
      return await call();
    } finally {
      this.end(usage, weight);
      this.forgetIdle(slot);
    }
  }

  release(slot: Slot): void {
    if (slot.phase === 'released') return;
    this.leavePhase(slot);
    slot.phase = 'released';
    this.all.bodyBytes -= slot.bodyBytes;
    slot.usage.bodyBytes -= slot.bodyBytes;
    const last = this.slots.pop();
    if (last && last !== slot) {
      this.slots[slot.index] = last;
      last.index = slot.index;
    }
    this.forgetIdle(slot);
  }

  /**
   * Reserves memory for a body as it arrives. Counts bytes received rather than Content-Length, so announcing a large body
   * reserves nothing.
   * @throws CodedError `overloaded`, `too-many-in-flight`
   */
  reserve(slot: Slot, bytes: number): void {
    if (slot.phase === 'released') return;
    this.checkRoom(slot, bytes);
    slot.bodyBytes += bytes;
    slot.usage.bodyBytes += bytes;
    this.all.bodyBytes += bytes;
  }

  /** Reserves nothing. Before a body is read: reading and dropping its first part costs more than the refusal. @throws CodedError as `reserve` */
  checkRoom({ usage, response }: Slot, bytes: number): void {
    if (this.all.bodyBytes + bytes > this.max.bodyBytes) throw overloaded('The gateway');
    const share = this.shareOf(this.all.bodyBytes, this.max.bodyBytes, leastBodyBytes);
    if (usage.bodyBytes + bytes > share) throw tooManyInFlight('bytes of bodies', response);
  }

  observe(metrics: Registry): void {
    gauge(metrics, 'http_requests_in_flight', 'Accepted requests without a complete response', () => this.all.working);
    gauge(metrics, 'http_requests_receiving', 'Requests whose body is arriving', () => this.all.receiving);
    gauge(metrics, 'http_calls_in_flight', 'Weight of the calls of services that have not been answered', () => this.all.calls);
    gauge(metrics, 'http_body_bytes_in_flight', 'Bytes of request bodies in memory', () => this.all.bodyBytes);
  }

  /** Calls outlive their request if its client hangs up, and still count. */
  private forgetIdle({ client, usage }: Slot): void {
    if (usage.working + usage.receiving + usage.calls === 0 && this.clients.get(client) === usage) this.clients.delete(client);
  }

  private mayCall({ calls }: Usage, weight: number): boolean {
    const most = this.clients.size > 1 ? sharedCalls : mostCalls;
    return calls === 0 || calls + weight <= leastCalls || (calls + weight <= most && this.all.calls + weight <= mostCalls) || this.max.clientShare >= 1;
  }

  private begin(usage: Usage, weight: number): void {
    usage.calls += weight;
    this.all.calls += weight;
  }

  /** Ends a call, and begins those that there is room for, the oldest of each client, first that of the client whose calls weigh least. */
  private end(usage: Usage, weight: number): void {
    usage.calls -= weight;
    this.all.calls -= weight;
    for (let next = this.nextToCall(); next !== undefined; next = this.nextToCall()) {
      const [first] = next.waiting.splice(0, 1);
      if (next.waiting.length === 0) this.waiting.delete(next);
      if (!first) continue;
      this.begin(next, first.weight);
      first.begin();
    }
  }

  private nextToCall(): ClientUsage | undefined {
    let next: ClientUsage | undefined;
    for (const one of this.waiting) {
      if (this.mayCall(one, one.waiting[0]?.weight ?? 0) && (next === undefined || one.calls < next.calls)) next = one;
    }
    return next;
  }

  private admit(usage: Usage, phase: 'working' | 'receiving', response: ServerResponse): void {
    if (this.all[phase] >= this.max.requests) {
      // Closes rejected connections: Node accepts one connection per turn of the event loop, and clients that retry at once on
      // open connections lengthen every turn, so that new clients wait for more than 20 s. A client that must reconnect waits
      // in the kernel's accept queue, at no cost to this process.
      response.setHeader('connection', 'close');
      throw overloaded('The gateway');
    }
    if (usage[phase] >= this.shareOf(this.all[phase], this.max.requests, leastRequests)) throw tooManyInFlight('requests', response);
  }

  private leavePhase({ phase, usage }: Slot): void {
    if (phase === 'released') return;
    this.all[phase]--;
    usage[phase]--;
  }

  /** Returns how much of a whole one client may use. */
  private shareOf(used: number, whole: number, least: number): number {
    const { clientShare } = this.max;
    return Math.max(least, whole * (used * 2 < whole || clientShare >= 1 ? clientShare : clientShare / 5));
  }

  private checkPaces(): void {
    const now = performance.now();
    for (const slot of this.slots) {
      if (!slot.request.complete && this.isTooSlow(slot, now)) refuseSlow(slot.request);
      this.timeResponse(slot);
    }
  }

  private isTooSlow(slot: Slot, now: number): boolean {
    const { bodyMs, graceMs, streamedBytesPerSecond, checkMs } = this.pace;
    if (slot.phase === 'receiving' && !slot.streams) return now - slot.admittedAt > bodyMs;
    if (!slot.streams) return false;
    // What waits to be read is no fault of the client's.
    if (slot.request.readableLength === 0) slot.waitedMs += checkMs;
    return slot.waitedMs > graceMs && slot.request.socket.bytesRead - slot.bytesReadBefore < (slot.waitedMs / 1_000) * streamedBytesPerSecond;
  }

  /** Lets Node close a socket that takes none of the waiting bytes. */
  private timeResponse(slot: Slot): void {
    const { socket } = slot.request;
    const waits = socket.writableLength > 0;
    if (waits === slot.isTimed) return;
    slot.isTimed = waits;
    socket.setTimeout(waits ? this.pace.responseMs : 0);
  }
}

/** Answers 408, as Node does when a whole request takes too long, and closes the connection. */
function refuseSlow({ socket }: IncomingMessage): void {
  const { server } = socket as typeof socket & { readonly server: NodeJS.EventEmitter };
  const error = Object.assign(new Error('the body arrives too slowly'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  if (!server.emit('clientError', error, socket)) socket.destroy();
}

function tooManyInFlight(what: string, response: ServerResponse): HttpError {
  response.setHeader('connection', 'close');
  return new HttpError('too-many-in-flight', `Too many ${what} of yours are in flight. Wait for some of their answers.`, {}, { 'retry-after': '1' });
}
