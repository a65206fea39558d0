import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { ExportedPage } from '@plant-shop/contracts/catalog';
import { CodedError, overloaded } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { toPlant } from '../plants/plant.js';
import { endExport, findExport, noteUse, readPlants, registerExport, snapshotOf } from './export.repository.js';

/** Snapshots that one replica holds open, each with a connection. */
const maxHeld = 2;
/** How long another export may wait for its turn. */
const turnMs = 5_000;
const pollMs = 1_000;
/** Nobody reads it any more. */
const idleMs = 15_000;
/** A snapshot keeps Postgres from removing dead rows. */
const maxAgeMs = 3_600_000;

/**
 * Exports the catalogue as it was at one moment. A transaction holds its snapshot open; pages are read by other
 * transactions, on any replica, that import it.
 */
@Injectable()
export class ExportService implements OnApplicationShutdown {
  private held = 0;
  /** Exports that wait for one to end. */
  private readonly waiting: (() => void)[] = [];
  /** Those that are held here, by snapshot: they need not wait for the next look into the table. */
  private readonly ends = new Map<string, AbortController>();
  private isEnding = false;

  constructor(
    private readonly database: Database,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  async begin(): Promise<{ snapshot: string }> {
    await this.turn();
    return new Promise((resolve, reject) => {
      this.hold((snapshot) => resolve({ snapshot }))
        .catch((error: unknown) => {
          this.logger.warn({ err: error }, 'export ended early');
          reject(error instanceof Error ? error : new Error(String(error)));
        })
        .finally(() => this.nextTurn());
    });
  }

  private async turn(): Promise<void> {
    if (this.held < maxHeld) {
      this.held++;
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
      }, turnMs);
      this.waiting.push(begin);
    });
  }

  private nextTurn(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.held--;
  }

  /** @throws CodedError `invalid-cursor` when nobody holds the snapshot open any more */
  async read(snapshot: string, after: number): Promise<ExportedPage> {
    if (!(await noteUse(this.database, snapshot))) throw ended();
    const rows = await this.database.transaction(async (tx) => {
      tx.send('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      // The contract lets nothing but hexadecimal digits and dashes through.
      tx.send(`SET TRANSACTION SNAPSHOT '${snapshot}'`);
      return readPlants(tx, after);
    });
    const last = rows.at(-1);
    return { plants: rows.map(toPlant), ...(last && { next: last.incarnation }) };
  }

  async end(snapshot: string): Promise<{ snapshot: string }> {
    await endExport(this.database, snapshot);
    this.ends.get(snapshot)?.abort();
    return { snapshot };
  }

  onApplicationShutdown(): void {
    this.isEnding = true;
  }

  /** Returns when the export has ended, or nobody reads it any more. */
  private async hold(begun: (snapshot: string) => void): Promise<void> {
    await this.database.transaction(async (tx) => {
      tx.send('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      const snapshot = await snapshotOf(tx);
      await registerExport(this.database, snapshot);
      const ended = new AbortController();
      this.ends.set(snapshot, ended);
      try {
        begun(snapshot);
        const end = performance.now() + maxAgeMs;
        while (!this.isEnding && !ended.signal.aborted && performance.now() < end && (await this.isUsed(tx, snapshot))) {
          await sleep(pollMs, undefined, { signal: ended.signal }).catch(() => undefined);
        }
      } finally {
        this.ends.delete(snapshot);
      }
      await endExport(this.database, snapshot);
    });
  }

  private async isUsed(tx: Transaction, snapshot: string): Promise<boolean> {
    // Postgres ends transactions that are idle for 5 s.
    onlyRow(await tx.query('SELECT 1'));
    const found = await findExport(this.database, snapshot);
    return found !== undefined && found.idleMs < idleMs;
  }
}

const ended = (): CodedError => new CodedError('invalid-cursor', 'This export has ended. Begin another one.');
