import { ShopError, ShopProblem } from '@plant-shop/client';

/** Begins the names under which the tab keeps drafts. */
export const prefix = 'console-draft ';

/** Forgets what was typed into all forms, by every user of this tab. */
export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
}

/** Names what a draft's form has sent while the answer is outstanding or lost. */
export const sentOf = (key: string): string => `${key} (sent)`;

/** Whether a draft's form was sent, and it is not known whether it took effect. */
export const wasSent = ({ key }: { readonly key: string }): boolean => sessionStorage.getItem(sentOf(key)) !== null;

/** A request of which it is not known whether it took effect. */
interface Sent {
  /** What the user had typed, as JSON. */
  readonly typed: string;
  readonly request: unknown;
  readonly idempotencyKey: string;
}

/**
 * After a lost answer the same request may be refused for its credential, or fail without effect: neither says what became of the former one, so
 * the error says that it is not known.
 */
export function keepUnknown(error: unknown, wasUnknown: boolean): void {
  if (!wasUnknown || !(error instanceof ShopError)) return;
  if (error.outcome === 'not-done' || (error instanceof ShopProblem && (error.status === 401 || error.status === 403))) error.outcome = 'unknown';
}

/** The answer to a form's request was lost. */
export class LostAnswer extends Error {}

/**
 * Sends what a form makes. If the answer is lost, the form sends the same request with the same Idempotency-Key again, also after a reload, so that
 * it does not take effect twice.
 * @param request what is sent, as JSON can hold it
 * @param typed what it was made of, if that is not the request: a request with the version of a moment ago is repeated as it was
 * @throws LostAnswer
 */
export async function sendOnce<Request, Answer>(
  { key }: { readonly key: string },
  request: Request,
  perform: (request: Request, idempotencyKey: string) => Promise<Answer>,
  typed: unknown = request,
): Promise<Answer> {
  const text = JSON.stringify(typed);
  const kept = JSON.parse(sessionStorage.getItem(sentOf(key)) ?? 'null') as Sent | null;
  const sent: Sent = kept?.typed === text ? kept : { typed: text, request, idempotencyKey: crypto.randomUUID() };
  sessionStorage.setItem(sentOf(key), JSON.stringify(sent));
  try {
    const answer = await perform(sent.request as Request, sent.idempotencyKey);
    sessionStorage.removeItem(sentOf(key));
    return answer;
  } catch (error) {
    keepUnknown(error, sent === kept);
    if (error instanceof ShopError && error.outcome === 'unknown') throw new LostAnswer(error.message, { cause: error });
    sessionStorage.removeItem(sentOf(key));
    throw error;
  }
}
