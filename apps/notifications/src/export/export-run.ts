import { noSubject } from '@plant-shop/contracts/events';
import type { Logger } from '@plant-shop/platform/logging';
import type { Database } from '@plant-shop/platform/postgres/database';
import { type LogPage, pageEntries, readHistory, readPage } from '../log/event-log.repository.js';
import { decodeCursor, encodeCursor, History, type Position } from '../log/history.js';
import { LogEntry } from '../log/log-entry.js';
import { eventTypesOf, type Subscription } from '../log/subscription.js';
import type { QueueClock } from '../webhooks/queue/queue-clock.js';
import { batchLimitMs, type Broker, Held, type Message } from './broker.js';
import { type DestinationRow, endLease, type LogHead, readHead, saveProgress } from './destinations.repository.js';

/** Most events of a batch. */
const maxBatch = 2_000;
/** How often the log is read without an announcement, and the lease renewed. */
const pollMs = 1_000;
/** Announcements within this time are one: each turn costs a write. */
const restMs = 250;
/** Longer than two batches and their record take. After it another replica may publish. */
export const leaseMs = 12_000;

/** Headers of messages. `after`: the destination, and the cursor up to which its stream has all events. */
const names = { order: 'Shop-Order', sequence: 'Shop-Sequence', epoch: 'Shop-Epoch', gap: 'Shop-Gap', replay: 'Shop-Replay', after: 'Shop-After' };

export interface RunParts {
  readonly database: Database;
  readonly clock: QueueClock;
  readonly logger: Logger;
  /** Counts acknowledged events, and those that the broker had already. */
  readonly onPublished: (count: number, duplicates: number) => void;
  readonly open: (destination: DestinationRow) => Promise<Broker>;
}

/** The lease ended, or the destination was changed: whoever has it now publishes. */
class LeaseLost extends Error {}

/**
 * Publishes to one destination what follows its position in the log, as long as this replica has its lease. The position moves when the broker
 * has acknowledged: after a crash, events are published again with the same id.
 */
export class ExportRun {
  private history = new History([], []);
  private knownHistory: string | undefined;
  private position: Position = 0;
  private replaySeq: number | null;
  private mark: string | null;
  /** Read while the page before it is published. */
  private ahead: { readonly after: number; readonly page: Promise<LogPage> } | undefined;
  /** One event after a failure, then twice as many each time. */
  private batch: number;
  private leasedUntil: number;
  private isEnding = false;
  private isAnnounced = false;
  private wake: () => void = () => undefined;
  private readonly subscription: Subscription;

  /** @param leasedAt when the lease was asked for, by `performance.now` */
  constructor(
    private readonly destination: DestinationRow,
    private readonly lease: string,
    leasedAt: number,
    private readonly parts: RunParts,
  ) {
    const { eventTypes, plantId, newStatuses, heldReason } = destination;
    this.leasedUntil = leasedAt + leaseMs;
    this.replaySeq = destination.replaySeq;
    this.mark = destination.mark;
    this.batch = heldReason === null ? maxBatch : 1;
    this.subscription = {
      visibility: { subject: noSubject, all: true, stock: true },
      filter: {
        types: eventTypesOf(eventTypes),
        ...(plantId !== null && { plantIds: [plantId] }),
        ...(newStatuses !== null && { newStatuses }),
      },
    };
  }

  /** Publishes until `end`, or until something prevents it. */
  async run(): Promise<void> {
    const { id } = this.destination;
    let broker: Broker | undefined;
    let held: Held | undefined;
    try {
      broker = await this.parts.open(this.destination);
      await this.begin(broker);
      do if (!(await this.turn(broker))) await this.rest();
      while (!this.isEnding);
    } catch (error) {
      if (error instanceof Held) held = error;
      else if (!(error instanceof LeaseLost)) throw error;
    } finally {
      await this.ahead?.page.catch(() => undefined);
      await broker?.close();
      await this.parts.clock.transaction((tx) => endLease(tx, id, this.lease, held));
    }
    if (held && held.reason !== this.destination.heldReason) this.parts.logger.warn({ destination: id, reason: held.reason, detail: held.message }, 'destination held');
  }

  /** Ends after the present batch. */
  end(): void {
    this.isEnding = true;
    this.wake();
  }

  /** There are new events in the log. */
  notify(): void {
    this.isAnnounced = true;
    this.wake();
  }

  /** Finds the position, which is an earlier one if the stream has lost messages. */
  private async begin(broker: Broker): Promise<void> {
    const { id, epoch, seq, firstEpoch, firstSeq } = this.destination;
    const { watermark } = await this.readHead();
    const position = this.history.positionOf({ epoch, seq });
    const isKnown = position !== undefined && position <= watermark;
    this.position = isKnown ? position : position === undefined ? 0 : watermark;
    if (!isKnown) await this.publish(broker, [LogEntry.gap(this.position, this.history, position === undefined ? 'cursor-unknown' : 'cursor-ahead')], false);
    if (!broker.lost) return;
    const { newest } = broker.lost;
    const [of, cursor = ''] = newest?.[names.after]?.split(' ') ?? [];
    const left = of === id ? decodeCursor(cursor) : undefined;
    const first = { epoch: firstEpoch, seq: firstSeq };
    const from = Math.min(this.position, this.history.positionOf(left ?? first) ?? 0);
    this.parts.logger.warn({ destination: id, from, to: this.position }, 'the stream of a destination has lost messages: they are published again');
    this.position = from;
    this.mark = null;
  }

  /** Reads the end of the log, and its history if that has changed. */
  private async readHead(): Promise<LogHead> {
    const head = await readHead(this.parts.database, this.destination, this.lease);
    if (!head.isOurs) throw new LeaseLost();
    if (head.history !== this.knownHistory) {
      const cursor = this.history.cursorAt(this.position);
      // A stream may have events that a failover lost, also where its row and the log were lost with them.
      this.history = await readHistory(this.parts.database, true);
      // Numbers of an epoch that ended earlier than this replica saw may be given again.
      if (this.knownHistory !== undefined) this.position = this.history.positionOf(cursor) ?? -Infinity;
      this.knownHistory = head.history;
      this.ahead = undefined;
    }
    // The log was restored, and the destination's row may have been.
    if (Math.floor(this.position) > head.watermark || this.position === -Infinity) throw new LeaseLost();
    return head;
  }

  /** Publishes a page of new events and one of the replay. Returns whether there may be more. */
  private async turn(broker: Broker): Promise<boolean> {
    const begunAt = performance.now();
    this.isAnnounced = false;
    const { watermark } = await this.readHead();
    const isBehind = this.position < watermark;
    let count = 0;
    if (isBehind) count += await this.publishNew(broker, watermark);
    if (this.replaySeq !== null) count += await this.publishReplay(broker);
    if (broker.fault) throw broker.fault;
    if (!isBehind && this.replaySeq === null) await this.save();
    const dueMs = (count / this.destination.perSecond) * 1_000 - (performance.now() - begunAt);
    if (dueMs > 0) await this.pause(dueMs, () => this.isEnding);
    return this.position < watermark || this.replaySeq !== null;
  }

  private async publishNew(broker: Broker, watermark: number): Promise<number> {
    const after = Math.floor(this.position);
    const page = await (this.ahead?.after === after ? this.ahead.page : this.read(after, watermark));
    // Pages of another size or from elsewhere are not needed any more.
    this.ahead = undefined;
    if (this.batch === maxBatch && page.upTo < watermark) {
      const next = this.read(page.upTo, watermark);
      // Its failure is that of the turn that needs it.
      next.catch(() => undefined);
      this.ahead = { after: page.upTo, page: next };
    }
    const { entries, position } = pageEntries(page, this.position, this.history);
    await this.publish(broker, entries, false);
    this.position = position;
    await this.save();
    return entries.length;
  }

  /** Events of the log that happened in the period. */
  private async publishReplay(broker: Broker): Promise<number> {
    const { replayEnd, replaySince, replayUntil } = this.destination;
    const after = this.replaySeq ?? 0;
    const page = await this.read(after, replayEnd ?? 0);
    const [since, until] = [replaySince?.getTime() ?? -Infinity, replayUntil?.getTime() ?? Infinity];
    const all = page.events.map((event) => LogEntry.ofEvent(event, this.history));
    const entries = all.filter(({ fields }) => fields !== undefined && fields.at >= since && fields.at < until);
    // It waited while the destination was disabled, and the log did not.
    const lost = after + 1 < page.oldest ? [LogEntry.gap(page.oldest - 1, this.history, 'cursor-too-old')] : [];
    await this.publish(broker, [...lost, ...entries], true);
    this.replaySeq = page.upTo >= (replayEnd ?? 0) ? null : page.upTo;
    await this.save();
    return entries.length;
  }

  private read(after: number, end: number): Promise<LogPage> {
    return readPage(this.parts.database, this.subscription, { after, end: Math.max(after, end), limit: Math.min(this.batch, Math.ceil(this.destination.perSecond / 4)) });
  }

  /** Publishes entries in order, each gap notice between what is before and behind it. @throws Held after recording how many are there */
  private async publish(broker: Broker, entries: readonly LogEntry[], isReplay: boolean): Promise<void> {
    for (let from = 0; from < entries.length; ) {
      const nextGap = entries.findIndex(({ event }, n) => n >= from && !event);
      const to = nextGap === -1 ? entries.length : Math.max(from + 1, nextGap);
      const some = entries.slice(from, to);
      if (performance.now() + batchLimitMs > this.leasedUntil) throw new LeaseLost();
      const after = `${this.destination.id} ${encodeCursor(this.history.cursorAt(this.position))}`;
      const { count, duplicates, held, hasRestarted, mark } = await broker.publish(some.map((one) => this.toMessage(one, after, isReplay)));
      this.mark = mark ?? null;
      this.parts.onPublished(count, duplicates);
      if (hasRestarted) {
        await this.save();
        throw new LeaseLost();
      }
      const last = some[count - 1]?.position;
      if (last !== undefined && isReplay) this.replaySeq = last;
      else if (last !== undefined) this.position = last;
      if (count < some.length) {
        if (count > 0) await this.save();
        throw held ?? new Held('unreachable', 'The broker did not acknowledge all.');
      }
      from = to;
    }
    this.batch = Math.min(maxBatch, 2 * this.batch);
  }

  private toMessage(entry: LogEntry, after: string, isReplay: boolean): Message {
    const { event, fields, body } = entry;
    const { epoch, seq } = this.history.cursorAt(entry.position);
    const at = { [names.sequence]: `${seq}`, [names.epoch]: epoch, [names.after]: after };
    if (!event || !fields) return { key: 'gap', id: `gap.${entry.cursor}`, headers: { ...at, [names.gap]: 'true' }, body };
    const key = fields.isStock ? `stock.${fields.plantId}` : `order.${fields.orderId}`;
    const headers = { ...at, ...(fields.orderId !== undefined && { [names.order]: `${fields.orderId}` }), ...(isReplay && { [names.replay]: 'true' }) };
    return { key, id: event.id, headers, body };
  }

  private async save(): Promise<void> {
    const at = performance.now();
    const progress = { cursor: this.history.cursorAt(this.position), mark: this.mark, replaySeq: this.replaySeq };
    if (!(await this.parts.clock.transaction((tx) => saveProgress(tx, this.destination, this.lease, leaseMs, progress)))) throw new LeaseLost();
    this.leasedUntil = at + leaseMs;
  }

  private async rest(): Promise<void> {
    await this.pause(pollMs, () => this.isEnding || this.isAnnounced);
    if (!this.isEnding) await this.pause(restMs, () => this.isEnding);
  }

  private async pause(ms: number, isOver: () => boolean): Promise<void> {
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        if (!isOver()) return;
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = () => undefined;
  }
}
