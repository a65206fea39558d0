import { Controller, Injectable } from '@nestjs/common';
import { catalog, type ListPlantChanges, type PlantChanges } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { CoalescedRead } from '@plant-shop/platform/patterns/coalesced-read';
import { Cursors, fitToPage, maxLimit } from '@plant-shop/platform/patterns/paging';
import { Database, type Statement, type Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { type PlantState, toPlant } from '../plants/plant.js';
import { columns, readBytes } from '../plants/plants.repository.js';

// The catalogue's changes in the order of their commits. Not a feed of libs/events: that delivers every event to known followers, with
// bodies, and a copy needs only the latest state.

/** The most changes that one step numbers: more than one page has. */
const maxNumbered = 1_000;
const batch = 1_000;
const keepDays = 30;

/** A position in the changes, which a cursor holds. */
interface Position {
  /** The last number read. */
  readonly number: number;
  /** The client needs no deletion up to this number: it has read it, or began after it. At least `number`. */
  readonly since: number;
  /** The token of the step that numbered `since`. */
  readonly token: string;
}

const cursors = new Cursors('plant changes');
const encoded = ({ number, since, token }: Position): string => cursors.cursorOf([number, since, token]);

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isEncoded = (value: unknown): value is [number: number, since: number, token: string] =>
  Array.isArray(value) && value.length === 3 && isNumber(value[0]) && isNumber(value[1]) && typeof value[2] === 'string' && value[0] <= value[1];

interface Step {
  readonly last: number;
  readonly token: string;
  /** The last number of the oldest step: deletions up to it may be forgotten. */
  readonly oldest: number;
}

const steps = `SELECT last, token::text AS token, (SELECT min(last) FROM plant_change_steps) AS oldest FROM plant_change_steps`;
const findHead: Statement = { name: 'head-of-changes', text: `${steps} ORDER BY last DESC LIMIT 1` };
/** Finds the step that assigned a number. */
const findStep: Statement = { name: 'step-of-change', text: `${steps} WHERE last >= $1 ORDER BY last LIMIT 1` };

const anyUnnumbered: Statement = { name: 'any-unnumbered', text: 'SELECT FROM plant_changes WHERE number IS NULL LIMIT 1' };
const lockNumbers: Statement = { name: 'lock-change-numbers', text: 'SELECT pg_advisory_xact_lock(1, 1)' };

// Skips changes that a running transaction replaces, so that it delays no reader: they are numbered later, by its commit or its end.
const numberChanges: Statement = {
  name: 'number-changes',
  text: `
    WITH chosen AS MATERIALIZED (
      SELECT plant_id, version FROM plant_changes WHERE number IS NULL ORDER BY version LIMIT ${maxNumbered} FOR UPDATE SKIP LOCKED
    ), numbered AS (
      SELECT plant_id, (SELECT max(last) FROM plant_change_steps) + row_number() OVER (ORDER BY version) AS number FROM chosen
    ), written AS (
      UPDATE plant_changes SET number = numbered.number FROM numbered WHERE plant_changes.plant_id = numbered.plant_id RETURNING numbered.number
    ), step AS (
      INSERT INTO plant_change_steps (last) SELECT max(number) FROM written HAVING count(*) > 0
    )
    SELECT count(*)::integer AS count FROM written`,
};

interface Change {
  readonly number: number;
  readonly plantId: number;
}
type ChangedPlant = Change & (PlantState | { readonly id: null });

const readPage: Statement = {
  name: 'page-of-changes',
  text: `
    SELECT page.number, page.plant_id AS "plantId", ${columns} FROM (
      SELECT next.plant_id, next.number, sum(coalesce(bytes, 0)) OVER (ORDER BY next.number) - coalesce(bytes, 0) AS before
      FROM (SELECT plant_id, number FROM plant_changes WHERE number > $1 ORDER BY number LIMIT $2) AS next
      LEFT JOIN plants ON plants.id = next.plant_id
    ) AS page LEFT JOIN plants ON plants.id = page.plant_id
    WHERE page.before <= ${readBytes} ORDER BY page.number`,
};

@Injectable()
export class PlantChangesService {
  private readonly numbering: CoalescedRead<void>;

  constructor(private readonly database: Database) {
    this.numbering = new CoalescedRead(async () => {
      if ((await this.database.query(anyUnnumbered)).length > 0) await this.number();
    });
  }

  /**
   * Returns the changes after a cursor. They include all that were committed before the call, except of plants that are being changed: those
   * follow with that change.
   * @throws CodedError `invalid-cursor`; DomainError `cursor-too-old`
   */
  async list({ cursor, limit = maxLimit }: ListPlantChanges): Promise<PlantChanges> {
    const given = cursor === undefined ? undefined : cursors.positionIn(cursor, isEncoded);
    await this.numbering.get();
    return this.database.transaction(async (tx) => {
      tx.send('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      const after = given ? await verified(tx, given) : await beginning(tx);
      const rows = await tx.query<ChangedPlant>(readPage, [after.number, limit]);
      const changes = fitToPage(rows, limit, toChange);
      const number = rows[changes.length - 1]?.number ?? after.number;
      return { changes, cursor: encoded(number > after.since ? await at(tx, number) : { ...after, number }) };
    });
  }

  /**
   * Numbers committed changes, one process at a time. Locking and numbering are two statements: a single one would not see the numbers that
   * were assigned while it waited for the lock.
   * @returns how many
   */
  number(): Promise<number> {
    return this.database.transaction(async (tx) => {
      tx.send(lockNumbers);
      return onlyRow(await tx.query<{ count: number }>(numberChanges)).count;
    });
  }

  /** Forgets deletions that were numbered long ago, and the steps up to them. @returns the larger number of deleted rows, at most `batch` */
  forget(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const forgottenSteps = await tx.execute(forgetSteps, [keepDays]);
      // A separate statement, which sees the oldest step that is left.
      return Math.max(forgottenSteps, await tx.execute(forgetDeletions));
    });
  }
}

/** The oldest step stays while the next one is young: it says up to where deletions are forgotten. */
const forgetSteps: Statement = {
  name: 'forget-steps',
  text: `
    DELETE FROM plant_change_steps WHERE last IN (
      SELECT last FROM (
        SELECT last, lead(numbered_at) OVER (ORDER BY last) AS next FROM (SELECT * FROM plant_change_steps ORDER BY last LIMIT ${batch} + 1) AS oldest
      ) AS step WHERE next < now() - $1 * interval '1 day'
    )`,
};
const forgetDeletions: Statement = {
  name: 'forget-deletions',
  text: `
    DELETE FROM plant_changes WHERE plant_id IN (
      SELECT plant_id FROM plant_changes WHERE is_deleted AND number <= (SELECT min(last) FROM plant_change_steps)
      ORDER BY number LIMIT ${batch} FOR UPDATE SKIP LOCKED
    )`,
};

const toChange = (row: ChangedPlant): PlantChanges['changes'][number] => (row.id === null ? { id: row.plantId, deleted: true } : toPlant(row));

async function beginning(tx: Transaction): Promise<Position> {
  const { last, token } = onlyRow(await tx.query<Step>(findHead));
  return { number: 0, since: last, token };
}

async function at(tx: Transaction, number: number): Promise<Position> {
  const { token } = onlyRow(await tx.query<Step>(findStep, [number]));
  return { number, since: number, token };
}

/** @throws DomainError `cursor-too-old` unless this history has the cursor's step and all deletions since */
async function verified(tx: Transaction, [number, since, token]: [number: number, since: number, token: string]): Promise<Position> {
  const [step] = await tx.query<Step>(findStep, [since]);
  if (!step || step.token !== token || since < step.oldest) {
    throw new DomainError('cursor-too-old', 'Deletions after this cursor may be forgotten. Begin without a cursor, and drop the plants that you do not get again.');
  }
  return { number, since, token };
}

/** Numbers changes that nobody reads, so that their deletions are forgotten in time. */
@Injectable()
export class PlantChangesSweeper extends BackgroundLoop {
  constructor(changes: PlantChangesService, @InjectLogger() logger: Logger) {
    super({ name: 'sweep plant changes', intervalMs: 60_000 }, async () => (await changes.number()) === maxNumbered || (await changes.forget()) === batch, logger);
  }
}

@Controller()
export class PlantChangesController {
  constructor(private readonly changes: PlantChangesService) {}

  @Answers(catalog.listPlantChanges)
  listPlantChanges(request: ListPlantChanges): Promise<PlantChanges> {
    return this.changes.list(request);
  }
}
