import { CodedError } from '../../errors.js';
import { createLogger } from '../../logging.js';
import { Database } from '../../postgres/database.js';
import type { RpcContext } from '../../rpc/context.js';
import { contextFor } from '../../rpc/context.spec.fixture.js';
import { assertNotAbandoned, type Attempt, IntentTable } from './intent-table.js';
import { type Saga, type SagaOutcome, SagaRunner } from './saga-runner.js';

// A minimal saga: a job is closed unless the other service finds it busy. The other service is a table of the same database.

export const schema = `
  CREATE TABLE jobs (id bigint PRIMARY KEY);
  CREATE SEQUENCE closing_attempts;
  CREATE TABLE closings (
    id bigint PRIMARY KEY REFERENCES jobs ON DELETE CASCADE, attempt bigint, tries integer NOT NULL DEFAULT 0, asked_by jsonb,
    leased_until timestamptz NOT NULL);
  CREATE TABLE others (id bigint PRIMARY KEY, busy boolean NOT NULL, closed boolean NOT NULL DEFAULT false, refused bigint NOT NULL DEFAULT 0);
  CREATE TABLE completed (id bigint NOT NULL);`;

/** The points at which a process may die, in order. */
export const points = ['after the commit', 'before the call', 'after the call', 'before the end', 'after the end'] as const;
export type Point = (typeof points)[number];

export const closings = new IntentTable<number, Omit<Attempt<number>, 'isFirst'>>({
  table: 'closings',
  owners: 'jobs',
  key: 'id',
  leasedUntil: 'leased_until',
  attempt: 'attempt',
  attempts: 'closing_attempts',
  columns: 'closings.id AS key, attempt',
});

export const connect = (url: string, poolSize: number): Promise<Database> =>
  Database.connect({ url, applicationName: 'test', poolSize, migrations: new URL('file:///none/') }, createLogger('test', 'fatal'));

export class Closings extends SagaRunner<number, Omit<Attempt<number>, 'isFirst'>> {
  /** Replaces the call to the other service. */
  call = (key: number, attempt: number): Promise<true | undefined> => this.close(key, attempt);

  constructor(
    database: Database,
    private readonly at: (point: Point) => void = () => undefined,
  ) {
    super(database, closings, { name: 'closings', intervalMs: 20 }, createLogger('test', 'silent'));
  }

  private readonly saga: Saga<Attempt<number>, true> = {
    ask: async (_, { key, attempt }) => {
      this.at('before the call');
      const refusal = await this.call(key, attempt);
      this.at('after the call');
      return refusal;
    },
    complete: ({ key }) =>
      this.atEnd('DELETE FROM jobs WHERE id = $1', [key], 'INSERT INTO completed VALUES ($1)'),
    withdraw: ({ key, attempt }) => this.atEnd('DELETE FROM closings WHERE id = $1 AND attempt = $2', [key, attempt]),
    unknown: ({ key }) => `Closing ${key} continues.`,
  };

  /** Closes a job, like a request. */
  async request(key: number, { leaseMs = 60_000, context = contextFor() } = {}): Promise<SagaOutcome<true>> {
    const closing = await this.database.transaction((tx) => closings.begin(tx, key, { requestId: 'test', credentials: [] }, leaseMs));
    if (!closing) throw new CodedError('not-found', `There is no job ${key}.`);
    this.at('after the commit');
    return this.execute(context, this.saga, closing);
  }

  /** The other service: refuses while the job is busy, and attempts older than one that it has refused. */
  close(key: number, attempt: number): Promise<true | undefined> {
    return this.database.transaction(async (tx) => {
      const [other] = await tx.query<{ busy: boolean; closed: boolean; refused: number }>('SELECT * FROM others WHERE id = $1 FOR UPDATE', [key]);
      if (!other || other.closed) return undefined;
      assertNotAbandoned(contextFor(), attempt, other.refused);
      await tx.execute(`UPDATE others SET closed = NOT busy, refused = CASE WHEN busy THEN $2 ELSE refused END WHERE id = $1`, [key, attempt]);
      return other.busy || undefined;
    });
  }

  protected resume(context: RpcContext, closing: Omit<Attempt<number>, 'isFirst'>): Promise<unknown> {
    return this.resumeAttempt(context, this.saga, { ...closing, isFirst: false });
  }

  private async atEnd(text: string, values: readonly number[], effect?: string): Promise<boolean> {
    this.at('before the end');
    const isMine = await this.database.transaction(async (tx) => {
      if ((await tx.execute(text, values)) === 0) return false;
      if (effect !== undefined) await tx.execute(effect, values.slice(0, 1));
      return true;
    });
    this.at('after the end');
    return isMine;
  }
}
