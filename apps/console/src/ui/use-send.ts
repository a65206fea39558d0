import { ShopError } from '@plant-shop/client';
import { useRef } from 'react';
import { type Draft, sentOf } from './use-draft.js';

/** A request of which it is not known whether it took effect. */
interface Sent {
  /** What the user had typed, as JSON. */
  readonly typed: string;
  readonly request: unknown;
  readonly idempotencyKey: string;
}

/**
 * @param request what is sent, as JSON can hold it
 * @param typed what it was made of, if that is not the request: a request with the version of a moment ago is repeated as it was
 */
export type Send = <Request, Answer>(request: Request, perform: (request: Request, idempotencyKey: string) => Promise<Answer>, typed?: unknown) => Promise<Answer>;

/** The answer to a form's request was lost. */
export class LostAnswer extends Error {}

/**
 * Sends what a form creates. If the answer is lost, the form sends the same request with the same Idempotency-Key again, so that it does not take
 * effect twice; with a draft also after a reload.
 */
export function useSend(draft?: Pick<Draft<object>, 'key'>): Send {
  const memory = useRef<string>(undefined);
  const keep = (sent: string | undefined): void => {
    memory.current = sent;
    if (draft && sent === undefined) sessionStorage.removeItem(sentOf(draft.key));
    else if (draft && sent !== undefined) sessionStorage.setItem(sentOf(draft.key), sent);
  };
  return async (request, perform, typed = request) => {
    const text = JSON.stringify(typed);
    const kept = JSON.parse((draft ? sessionStorage.getItem(sentOf(draft.key)) : memory.current) ?? 'null') as Sent | null;
    const sent: Sent = kept?.typed === text ? kept : { typed: text, request, idempotencyKey: crypto.randomUUID() };
    keep(JSON.stringify(sent));
    try {
      const answer = await perform(sent.request as typeof request, sent.idempotencyKey);
      keep(undefined);
      return answer;
    } catch (error) {
      if (error instanceof ShopError && error.outcome === 'unknown') throw new LostAnswer(error.message, { cause: error });
      keep(undefined);
      throw error;
    }
  };
}
