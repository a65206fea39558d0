import { ShopError, ShopProblem } from '@plant-shop/client';

/** An error in words for the person who met it: what happened, and what to do. */
export interface ProblemText {
  readonly what: string;
  readonly todo: string;
  /** Faults of single fields, for forms to show beside them. */
  readonly faults: readonly { readonly field: string; readonly detail: string }[];
  /** Names the request in the shop's logs. */
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
  const what = error instanceof Error ? error.message : 'Something broke that is not known here.';
  return { what, todo: error instanceof ShopError ? todoOf(error) : 'Load the page again. If that does not help, tell whoever runs the shop.', faults: [] };
}

function todoOf(error: ShopError): string {
  if (error instanceof ShopProblem) {
    if (error.status === 403) return 'Your role does not allow this. Ask an administrator.';
    if (error.status === 404) return 'It may have been deleted meanwhile. Load the list again.';
    if (error.status === 412) return 'Somebody changed it meanwhile. Look at what it is now, then decide.';
    if (error.status === 409) return 'Nothing was changed. Load the page again to see why.';
  }
  if (error.outcome === 'refused') return 'Nothing was changed. Correct what is wrong, then try again.';
  if (error.outcome === 'not-done') return 'Nothing was changed. Try again in a moment.';
  return 'It may have taken effect. Look before you try again.';
}

/** `/order/quantity` → `quantity`. */
const fieldOf = (pointer = ''): string => pointer.split('/').at(-1) ?? pointer;

/** What is wrong with one field of a form; nothing when it is another's fault. */
export const faultOf = (error: unknown, field: string): string | undefined => problemText(error).faults.find((one) => one.field === field)?.detail;
