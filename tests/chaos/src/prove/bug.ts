import type { GoalContext } from '../goals/goal.js';
import type { Row } from '../report.js';
import type { Rule } from '../checks/violation.js';
import type { Fault } from '../plan.js';
import type { WorkloadOptions } from '../workload.js';

/** One change of a built file. The file must contain `find` exactly once. */
export interface Edit {
  /** Path from the repository's root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A plausible mistake, seeded in a copy of the build. */
export interface Bug {
  /** Argument of `--prove`. */
  readonly id: string;
  readonly name: string;
  readonly edits: readonly Edit[];
  /** At least one of these rules must report a violation. */
  readonly breaks: readonly Rule[];
  /** Faults without which the bug has no effect. */
  readonly faults?: readonly Fault[];
  readonly workload?: Partial<WorkloadOptions>;
  /** The bug is in the client library, so the load comes from programs that use it instead of the workload. */
  readonly isInLibrary?: boolean;
  /** A part of a goal that shows the bug, instead of a trial. */
  readonly goal?: (context: GoalContext) => Promise<Row>;
}

export const kills = (...targets: string[]): Fault[] => [3_000, 6_000].map((atMs) => ({ kind: 'kill', atMs, targets }));
