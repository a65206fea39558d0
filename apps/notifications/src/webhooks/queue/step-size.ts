import { sqlStateOf } from '@plant-shop/platform/postgres/sqlstate';

/** The number of deliveries of a step: halved after a step that took too long, doubled after one that succeeded. */
export class StepSize {
  private size: number;

  constructor(private readonly max: number) {
    this.size = max;
  }

  get rows(): number {
    return this.size;
  }

  /** Returns how many of `max` endpoints share a step. Halving reduces the number of endpoints rather than the share of each. */
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

/** Returns whether a step was rolled back by a time limit of Postgres, so that a smaller one may succeed. */
export const wasTooLarge = (error: unknown): boolean =>
  [statementTimeout, lockTimeout].includes(sqlStateOf((error as { readonly cause?: unknown } | null)?.cause) ?? '');

/** Maximum number of due deliveries, over all endpoints of all orders. About 100 MB of rows and indexes. */
const maxDueTotal = 200_000;
const maxDue = 1_000;
const minDue = 20;

/** Returns how many due deliveries one endpoint may have: the fewer, the more endpoints of all orders there are. */
export const windowOf = (endpoints: number): number =>
  Math.max(minDue, Math.min(maxDue, Math.floor(maxDueTotal / Math.max(1, endpoints))));
