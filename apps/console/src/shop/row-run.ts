import { Cell } from './cell.js';

export interface RunState<Row> {
  readonly rows: readonly Row[];
  readonly isRunning: boolean;
  /** Whether it was started at least once. */
  readonly isBegun: boolean;
}

const publishMs = 250;

/** Does the same to many things, a few at a time, with a row for each. Repeating it leaves out what is done. */
export abstract class RowRun<Row> {
  readonly state: Cell<RunState<Row>>;
  private readonly rows: Map<number, Row>;
  private isRunning = false;
  private isBegun = false;
  private isStopped = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** @param atOnce requests at the same time */
  constructor(
    rows: Iterable<readonly [number, Row]>,
    private readonly atOnce: number,
  ) {
    this.rows = new Map(rows);
    this.state = new Cell<RunState<Row>>(this.now);
  }

  /** Returns a row without its last result. */
  protected abstract fresh(row: Row, state: 'waiting' | 'running'): Row;
  protected abstract isDone(row: Row): boolean;

  protected async each(work: (row: Row) => Promise<Row>): Promise<void> {
    if (this.isRunning) return;
    [this.isRunning, this.isBegun, this.isStopped] = [true, true, false];
    const todo = [...this.rows].filter(([, row]) => !this.isDone(row));
    for (const [key, row] of todo) this.set(key, this.fresh(row, 'waiting'));
    this.publish();
    const queue = todo.values();
    await Promise.all(Array.from({ length: this.atOnce }, async () => {
      for (const [key, row] of queue) {
        if (this.isStopped) return;
        this.set(key, this.fresh(row, 'running'));
        this.set(key, await work(row));
      }
    }));
    this.isRunning = false;
    this.publish();
  }

  /** Requests under way are finished. */
  stop(): void {
    this.isStopped = true;
  }

  private get now(): RunState<Row> {
    return { rows: [...this.rows.values()], isRunning: this.isRunning, isBegun: this.isBegun };
  }

  private set(key: number, row: Row): void {
    this.rows.set(key, row);
    this.timer ??= setTimeout(() => this.publish(), publishMs);
  }

  private publish(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.state.set(this.now);
  }
}
