import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { eventTypes } from '@plant-shop/contracts/events';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { defaultTypes, type EventTypes, eventTypesOf, isVisibleTo } from '../../log/subscription.js';
import { History } from '../../log/history.js';
import { LogEntry } from '../../log/log-entry.js';
import { Ring } from '../../log/ring.js';
import { Broadcaster } from './broadcaster.js';
import { type ClientTransport, Connection } from '../connection.js';
import { EntryBatch, selectionFor } from './live-connections.js';
import { FrameSender } from './frame-sender.js';
import { StreamMetrics } from '../metrics.js';

const history = new History([{ epoch: 'one', after: 0 }], []);
const turn = () => new Promise((resolve) => setImmediate(resolve));

interface Client {
  readonly connection: Connection;
  /** The event numbers of each write. */
  readonly writes: number[][];
  /** The number of events before it joined. */
  readonly from: number;
}

/** A broadcaster with its own ring and clients whose writes are recorded. */
class Scene {
  readonly revocations = { isFresh: true, identityTime: () => Date.now() };
  readonly ring: Ring;
  readonly broadcaster: Broadcaster;
  readonly all: LogEntry[] = [];
  readonly clients: Client[] = [];
  onTurn: (connection: Connection) => void = () => undefined;
  private readonly sender: FrameSender;

  /** @param writeMs duration of a write to one socket */
  constructor(private readonly writeMs = 0, maxEntries = 1_000) {
    this.ring = new Ring({ maxEntries, maxBytes: Infinity });
    const metrics = new StreamMetrics(new Registry());
    this.sender = new FrameSender(this.revocations, metrics);
    const { sender } = this;
    const turns: Pick<FrameSender, 'send' | 'maySend' | 'now'> = {
      get maySend() {
        return sender.maySend;
      },
      get now() {
        return sender.now;
      },
      send: (connection, selected) => {
        this.onTurn(connection);
        return sender.send(connection, selected);
      },
    };
    this.broadcaster = new Broadcaster({ ring: this.ring }, turns as FrameSender, metrics);
    // Like `CatchUp`, but with all entries instead of pages of the log.
    this.broadcaster.onTooFarBehind((connection) => this.resume(connection));
  }

  grow(...subjects: string[]): void {
    const entries = subjects.map((subject) => {
      const seq = this.all.length + 1;
      const event = seq % 3 === 0 ? 'order.placed' : 'order.status_changed';
      const body = JSON.stringify({ event, seq, timestamp: new Date().toISOString(), data: { newStatus: seq % 2 ? 'odd' : 'even' } });
      const entry = LogEntry.ofEvent({ seq, id: `${seq}`, subject, body }, history);
      this.all.push(entry);
      return entry;
    });
    this.ring.append(entries, this.all.length);
    this.broadcaster.notify();
  }

  /** Adds a client that has every entry so far. */
  join(subject?: string, newStatus?: string, types: EventTypes = defaultTypes): Client {
    const principal = { subject: subject ?? '', permissions: subject === undefined ? ['read:orders'] : [], shown: [] };
    const authentication = { principal, client: 'apiKey:one', revokedBy: [], expiresAt: Infinity };
    const connection = new Connection({}, authentication, { types, ...(newStatus !== undefined && { newStatuses: [newStatus] }) });
    const client: Client = { connection, writes: [], from: this.all.length };
    const send = (bytes: Buffer): void => {
      client.writes.push([...bytes.toString().matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq)));
      for (const end = performance.now() + this.writeMs; performance.now() < end; );
    };
    const transport: ClientTransport = { format: 'plain', kind: 'websocket', socket: new Socket(), send, ping: () => true, close: () => undefined };
    connection.transport = transport;
    this.clients.push(client);
    connection.position = client.from;
    this.resume(connection);
    return client;
  }

  resume(connection: Connection): void {
    const waiting = this.all.filter(({ position }) => position > connection.position);
    this.broadcaster.join(connection);
    this.sender.send(connection, selectionFor(connection, new EntryBatch(waiting)));
  }

  wanted({ connection, from }: Client): number[] {
    return this.all.filter((entry) => entry.position > from && isVisibleTo(connection, entry)).map(({ position }) => position);
  }

  async settled(): Promise<void> {
    const isDone = (client: Client): boolean => client.writes.flat().length >= this.wanted(client).length;
    for (const end = performance.now() + 2_000; !this.clients.every(isDone); ) {
      if (performance.now() > end) throw new Error('a client did not get all its entries');
      await turn();
    }
  }
}

describe('rounds of the broadcaster', () => {
  it('send each client all entries up to its write, and later ones in the next round', async () => {
    const scene = new Scene(0.2);
    const clients = Array.from({ length: 100 }, () => scene.join());
    scene.grow('someone');
    await turn();
    const served = clients.filter(({ writes }) => writes.length > 0).length;
    expect(served).toBeGreaterThan(0);
    expect(served).toBeLessThan(100);
    scene.grow('someone');
    await scene.settled();
    expect(clients.map(({ writes }) => writes)).toEqual([
      ...Array.from({ length: served }, () => [[1], [2]]),
      ...Array.from({ length: 100 - served }, () => [[1, 2]]),
    ]);
  });

  it('begin after a pause as long as the previous round', async () => {
    const scene = new Scene(5);
    const clients = [scene.join(), scene.join(), scene.join()];
    scene.grow('someone');
    while (clients.some(({ writes }) => writes.length === 0)) await turn();
    const ended = performance.now();
    scene.grow('someone');
    while (clients.some(({ writes }) => writes.length === 1)) await turn();
    // 15 ms of pause and 15 ms of writes, minus the tolerance of timers and clocks.
    expect(performance.now() - ended).toBeGreaterThan(28);
  });

  it('hand over to the catch-up a client that lacks more than the ring holds after sending was suspended', async () => {
    const scene = new Scene(0, 10);
    const client = scene.join();
    scene.revocations.isFresh = false;
    scene.grow(...Array.from({ length: 30 }, () => 'someone'));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(client.writes).toEqual([]);
    scene.revocations.isFresh = true;
    await scene.settled();
    expect(client.writes).toEqual([scene.wanted(client)]);
  });

  it('hand over a client whose entries have left the ring, although it is not concerned by those that followed', async () => {
    const scene = new Scene(0, 10);
    const client = scene.join('one');
    scene.revocations.isFresh = false;
    scene.grow('one', ...Array.from({ length: 30 }, () => 'two'));
    await new Promise((resolve) => setTimeout(resolve, 60));
    scene.revocations.isFresh = true;
    await scene.settled();
    expect(client.writes).toEqual([[1]]);
  });

  it('skip clients that do not ask for the types of the events', async () => {
    const scene = new Scene();
    const [without, placed] = [scene.join(), scene.join(undefined, undefined, eventTypesOf(['order.placed', 'refund.due']))];
    scene.grow('someone', 'someone');
    await scene.settled();
    const turns: Connection[] = [];
    scene.onTurn = (connection) => turns.push(connection);
    scene.grow('someone');
    await scene.settled();
    expect([without.writes, placed.writes]).toEqual([[[1, 2]], [[3]]]);
    expect(turns).toEqual([placed.connection]);
  });

  const subject = fc.constantFrom('one', 'two', 'three');
  const step = fc.oneof(
    fc.record({ do: fc.constant('grow' as const), subjects: fc.array(subject, { minLength: 1, maxLength: 4 }) }),
    fc.record({
      do: fc.constant('join' as const),
      subject: fc.option(subject, { nil: undefined }),
      newStatus: fc.option(fc.constantFrom('odd', 'even'), { nil: undefined }),
      types: fc.constantFrom(defaultTypes, eventTypesOf(['order.placed']), eventTypesOf(eventTypes)),
    }),
    fc.record({ do: fc.constantFrom('leave', 'rejoin'), client: fc.nat() }),
    fc.record({ do: fc.constant('turn' as const) }),
  );

  it('send each client what it may see and asked for, once and in order, while clients join, leave and return (slow)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        const scene = new Scene(0.2, 20);
        for (let n = 0; n < 40; n++) scene.join(['one', 'two', undefined][n % 3], ['odd', undefined][n % 2]);
        const away = new Set<Connection>();
        for (const one of steps) {
          if (one.do === 'grow') scene.grow(...one.subjects);
          else if (one.do === 'join') scene.join(one.subject, one.newStatus, one.types);
          else if (one.do === 'turn') await turn();
          else {
            const connection = scene.clients[one.client % scene.clients.length]?.connection;
            if (!connection) continue;
            if (one.do === 'rejoin' ? away.delete(connection) : false) scene.resume(connection);
            else if (one.do === 'leave' && !away.has(connection)) {
              away.add(connection);
              scene.broadcaster.leave(connection);
            }
          }
          // The cursor of a ping lets a client miss nothing.
          for (const client of scene.clients) {
            if (away.has(client.connection)) continue;
            const passed = scene.broadcaster.positionOf(client.connection);
            expect(client.writes.flat()).toEqual(expect.arrayContaining(scene.wanted(client).filter((position) => position <= passed)));
          }
        }
        for (const connection of away) scene.resume(connection);
        await scene.settled();
        for (const client of scene.clients) expect(client.writes.flat()).toEqual(scene.wanted(client));
      }),
      { numRuns: 40, endOnFailure: true },
    );
  });
});
