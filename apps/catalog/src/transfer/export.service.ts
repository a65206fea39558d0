import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { ExportedPage } from '@plant-shop/contracts/catalog';
import { CodedError, overloaded } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { toPlant } from '../plants/plant.js';
import { exportSnapshot, registerExport, touchExport, findLastUse, endExport, readPlants } from './export.repository.js';

/** The most snapshots that one replica holds open. Each occupies a connection. */
const maxHeld = 2;
/** How long an export waits for a slot. */
const slotWaitMs = 5_000;
const pollMs = 1_000;
/** An export that is not read for so long is abandoned. */
const idleMs = 15_000;
/** Longest life of a snapshot: while it is open, Postgres cannot remove dead rows. */
const maxAgeMs = 3_600_000;

/**
 * Exports the catalogue as of one moment. One transaction holds a snapshot open; other transactions, on any replica, import it to
 * read the pages.
 */
@Injectable()
export class ExportService implements OnApplicationShutdown {
  private slotsInUse = 0;
  /** Exports that wait for a slot. */
  private readonly waiting: (() => void)[] = [];
  /** Abort controllers of the snapshots held by this replica, so that ending one here takes effect before the next poll. */
  private readonly holders = new Map<string, AbortController>();
  private isShuttingDown = false;

  constructor(
    private readonly database: Database,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Begins an export. Waits for a slot, at most `slotWaitMs`. @throws CodedError `overloaded` */
  async begin(): Promise<{ snapshot: string }> {
    await this.acquireSlot();
    return new Promise((resolve, reject) => {
      this.holdSnapshot((snapshot) => resolve({ snapshot }))
        .catch((error: unknown) => {
          this.logger.warn({ err: error }, 'export failed');
          reject(error instanceof Error ? error : new Error(String(error)));
        })
        .finally(() => this.releaseSlot());
    });
  }

  private async acquireSlot(): Promise<void> {
    if (this.slotsInUse < maxHeld) {
      this.slotsInUse++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(begin), 1);
        reject(overloaded('The export'));
      }, slotWaitMs);
      this.waiting.push(begin);
    });
  }

  private releaseSlot(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.slotsInUse--;
  }

  /** Reads the page after incarnation `after`. @throws CodedError `invalid-cursor` if the snapshot is no longer held open */
  async read(snapshot: string, after: number): Promise<ExportedPage> {
    if (!(await touchExport(this.database, snapshot))) throw exportEnded();
    const rows = await this.database.transaction(async (tx) => {
      tx.send('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      // Safe to interpolate: the contract allows only hexadecimal digits and dashes.
      tx.send(`SET TRANSACTION SNAPSHOT '${snapshot}'`);
      return readPlants(tx, after);
    });
    const last = rows.at(-1);
    return { plants: rows.map(toPlant), ...(last && { next: last.incarnation }) };
  }

  /** Ends an export, on whichever replica holds its snapshot. */
  async end(snapshot: string): Promise<{ snapshot: string }> {
    await endExport(this.database, snapshot);
    this.holders.get(snapshot)?.abort();
    return { snapshot };
  }

  onApplicationShutdown(): void {
    this.isShuttingDown = true;
  }

  /** Holds a snapshot open until the export ends, is abandoned or reaches its longest life, or the process stops. */
  private async holdSnapshot(onBegun: (snapshot: string) => void): Promise<void> {
    await this.database.transaction(async (tx) => {
      tx.send('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      const snapshot = await exportSnapshot(tx);
      await registerExport(this.database, snapshot);
      const ended = new AbortController();
      this.holders.set(snapshot, ended);
      try {
        onBegun(snapshot);
        const end = performance.now() + maxAgeMs;
        let lastUse: string | undefined;
        let seenAt = performance.now();
        while (!this.isShuttingDown && !ended.signal.aborted && performance.now() < end) {
          // Keeps the transaction alive: Postgres ends transactions that are idle for 5 seconds.
          onlyRow(await tx.query('SELECT 1'));
          const use = await findLastUse(this.database, snapshot);
          if (use !== lastUse) seenAt = performance.now();
          lastUse = use;
          if (use === undefined || performance.now() - seenAt >= idleMs) break;
          await sleep(pollMs, undefined, { signal: ended.signal }).catch(() => undefined);
        }
      } finally {
        this.holders.delete(snapshot);
      }
      await endExport(this.database, snapshot);
    });
  }
}

const exportEnded = (): CodedError => new CodedError('invalid-cursor', 'This export has ended. Start a new one.');
