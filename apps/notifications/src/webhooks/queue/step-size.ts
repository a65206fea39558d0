import { sqlStateOf } from '@plant-shop/platform/postgres/sqlstate';

/** How many deliveries a step makes: half as many after one that took too long, twice as many after one that was full. */
export class StepSize {
  private size: number;

  constructor(private readonly max: number) {
    this.size = max;
  }

  get rows(): number {
    return this.size;
  }

  /** How many of `max` endpoints share the step: fewer of them after halving, rather than fewer deliveries for each. */
  endpoints(max: number): number {
    return Math.max(1, Math.min(this.size, Math.floor((max * this.size) / this.max)));
  }

  halve(): void {
    this.size = Math.max(1, Math.floor(this.size / 2));
  }

  grow(): void {
    this.size = Math.min(this.max, this.size * 2);
  }
}

const statementTimeout = '57014';
const lockTimeout = '55P03';

/** The step ran into a time limit of Postgres and was undone whole: a smaller one may succeed. */
export const wasTooLarge = (error: unknown): boolean =>
  [statementTimeout, lockTimeout].includes(sqlStateOf((error as { readonly cause?: unknown } | null)?.cause) ?? '');

/** Deliveries that are due and made ahead for endpoints of all orders, together. About 100 MB of rows and indexes. */
const dueInAll = 200_000;
const mostDue = 1_000;
const leastDue = 20;

/** How many due deliveries of one endpoint are made ahead. The more endpoints there are, the fewer each has. */
export const windowOf = (endpoints: number): number =>
  Math.max(leastDue, Math.min(mostDue, Math.floor(dueInAll / Math.max(1, endpoints))));
