import { type ErrorKind, ShopError, ShopProblem } from '@plant-shop/client';
import { LostPermissions, permissionNames } from '../auth/permissions.js';
import { LostAnswer } from './drafts.js';
import { type FieldFault, faultsOf, Refusal } from './problem.js';
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
    return { what: neededFor(error) ?? what, todo, faults, requestId: error.requestId };
  }
  if (error instanceof LostAnswer) return { ...problemText(error.cause), todo: 'It may have taken effect. Sent again unchanged, it does not happen twice.' };
  if (error instanceof ShopError) return { what: (error.kind === 'unreachable' && !navigator.onLine ? 'This computer has no network.' : failures[error.kind]) ?? 'The shop’s answer is not understood.', todo: todoOf(error), faults };
  if (error instanceof LostPermissions) return { what: `Your role was changed: you may no longer ${inWords(error.permissions)}.`, todo: 'What you typed is kept. If you need the permission, ask an administrator.', faults };
  if (error instanceof Refusal) return { what: error.message, todo: error.todo, faults };
  return { what: error instanceof Error ? error.message : 'An unexpected error occurred.', todo: reload, faults };
}

/** What happened, for a row. Whoever shows it repeats a request with its key. */
export function shortText(error: unknown): string {
  const { what } = problemText(error);
  return error instanceof ShopError && error.outcome === 'unknown' ? `${what} It may have taken effect: sent again, it does so only once.` : what;
}

/** Which permission is missing. The API's message names those of which one is needed. */
function neededFor({ code, message }: { readonly code: string; readonly message: string }): string | undefined {
  const names = Object.keys(permissionNames) as (keyof typeof permissionNames)[];
  const needed = code === 'forbidden' ? names.filter((one) => new RegExp(`permission(?: [\\w:]+ or)* ${one}\\b`).test(message)) : [];
  return needed.length === 0 ? undefined : `Your role does not allow this: it needs the permission to ${inWords(needed)}.`;
}

const inWords = (permissions: readonly (keyof typeof permissionNames)[]): string => permissions.map((one) => permissionNames[one]).join(', ').replace(/, ([^,]*)$/, ' or $1');

function todoOf({ outcome }: ShopError): string {
  if (outcome === 'refused') return 'Nothing was changed. Correct what is wrong, then try again.';
  if (outcome === 'not-done') return later;
  return 'It may have taken effect. Check before you try again.';
}
