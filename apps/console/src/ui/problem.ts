import { ShopError, ShopProblem } from '@plant-shop/client';

/** Text of an error for the user: what happened, and what to do. */
export interface ProblemText {
  readonly what: string;
  readonly todo: string;
  /** Errors of single fields, which forms show at the field. */
  readonly faults: readonly { readonly field: string; readonly detail: string }[];
  /** Id of the request in the shop's logs. */
  readonly requestId?: string;
  /** A page that explains the code. */
  readonly help?: string;
}

export function problemText(error: unknown): ProblemText {
  if (error instanceof ShopProblem) {
    const { detail, title } = error.members as { readonly detail?: string; readonly title?: string };
    return {
      what: detail ?? title ?? error.message,
      todo: todoOf(error),
      faults: error.errors.map(({ pointer, parameter, header, detail: fault }) => ({ field: fieldOf(pointer ?? parameter ?? header), detail: fault })),
      requestId: error.requestId,
      help: `/problems/${error.code}`,
    };
  }
  const what = error instanceof Error ? error.message : 'An unexpected error occurred.';
  return { what, todo: error instanceof ShopError ? todoOf(error) : 'Reload the page. If that does not help, tell an administrator.', faults: [] };
}

function todoOf(error: ShopError): string {
  if (error instanceof ShopProblem) {
    if (error.code === 'recent-login-required') return 'Nothing was changed. Repeat it with your password.';
    if (error.status === 403) return 'Your role does not allow this. Ask an administrator.';
    if (error.status === 404) return 'It may have been deleted. Reload the list.';
    if (error.status === 412) return 'Someone else has changed it. Check the current version, then decide.';
    if (error.status === 409) return 'Nothing was changed. Reload the page to see why.';
  }
  if (error.outcome === 'refused') return 'Nothing was changed. Correct what is wrong, then try again.';
  if (error.outcome === 'not-done') return 'Nothing was changed. Try again in a moment.';
  return 'It may have taken effect. Check before you try again.';
}

/** `/order/quantity` → `quantity`. */
const fieldOf = (pointer = ''): string => pointer.split('/').at(-1) ?? pointer;

/** Returns the error of a form's field, if it has one. */
export const faultOf = (error: unknown, field: string): string | undefined => problemText(error).faults.find((one) => one.field === field)?.detail;
