import { type ErrorKind, ShopError, ShopProblem } from '@plant-shop/client';
import { type FieldFault, faultsOf } from './problem.js';
import { later, reload, type Sentences, sentences, sentencesByStatus } from './problem-sentences.js';

/** Text of an error for the user: what happened, and what to do. */
export interface ProblemText {
  readonly what: string;
  readonly todo: string;
  /** Errors of single fields, which forms show at the field. */
  readonly faults: readonly FieldFault[];
  /** Id of the request in the shop's logs. */
  readonly requestId?: string;
}

const failures: Partial<Readonly<Record<ErrorKind, string>>> = {
  unreachable: 'The shop cannot be reached.',
  deadline: 'The shop did not answer in time.',
  'not-the-shop': 'Something other than the shop answered.',
  credential: 'You are not logged in any more.',
};

export function problemText(error: unknown): ProblemText {
  const faults = faultsOf(error);
  if (error instanceof ShopProblem) {
    const found = (sentences as Readonly<Record<string, Sentences | undefined>>)[error.code as string] ?? sentencesByStatus(error.status);
    const [what, todo] = typeof found === 'object' ? found : [found, todoOf(error)];
    return { what, todo, faults, requestId: error.requestId };
  }
  if (error instanceof ShopError) return { what: failures[error.kind] ?? 'The shop’s answer is not understood.', todo: todoOf(error), faults };
  return { what: error instanceof Error ? error.message : 'An unexpected error occurred.', todo: reload, faults };
}

function todoOf({ outcome }: ShopError): string {
  if (outcome === 'refused') return 'Nothing was changed. Correct what is wrong, then try again.';
  if (outcome === 'not-done') return later;
  return 'It may have taken effect. Check before you try again.';
}
