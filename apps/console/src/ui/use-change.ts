import { ShopError } from '@plant-shop/client';
// oxlint-disable-next-line no-restricted-imports
import { type UseMutationOptions, type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useRef } from 'react';
import { keepUnknown } from './drafts.js';

/** Options of the request that repeats one whose answer was lost: with its key, the shop does it only once. */
export interface Again {
  readonly idempotencyKey?: string;
}

/** Returns what the next attempt needs after an error; nothing if the error is an answer. @param again what this one was given */
export function againAfter(error: unknown, again: Again = {}): Again {
  keepUnknown(error, again.idempotencyKey !== undefined);
  return error instanceof ShopError && error.outcome === 'unknown' && error.idempotencyKey !== undefined ? { idempotencyKey: error.idempotencyKey } : {};
}

export type Change<Data, Input> = Pick<UseMutationResult<Data, Error, Input>, 'mutate' | 'reset' | 'data' | 'error' | 'isError' | 'isPending'>;

/**
 * A change in the shop that a double click or a second Enter does not repeat. It is made once: again only after it failed, or after
 * `reset`, which a form calls that opens anew. The same change after a lost answer gets `again`.
 * @param isRepeatable whether it may be made again once it is done, such as sending a test event
 */
export function useChange<Data, Input = void>({ mutationFn, isRepeatable = false, ...options }: {
  readonly mutationFn: (input: Input, again: Again) => Promise<Data>;
  readonly isRepeatable?: boolean;
} & Pick<UseMutationOptions<Data, Error, Input>, 'onSuccess' | 'onError' | 'onSettled' | 'gcTime'>): Change<Data, Input> {
  // State would be too late: a second click may come before the page has rendered.
  const isTaken = useRef(false);
  const failed = useRef<{ readonly input?: string | undefined; readonly again: Again }>({ again: {} });
  const { mutate, reset, data, error, isError, isPending } = useMutation<Data, Error, Input>({
    ...options,
    mutationFn: async (input) => {
      let mayRepeat = true;
      const text = JSON.stringify(input) as string | undefined;
      const again = failed.current.input === text ? failed.current.again : {};
      try {
        const done = await mutationFn(input, again);
        mayRepeat = isRepeatable;
        failed.current = { again: {} };
        return done;
      } catch (error) {
        failed.current = { input: text, again: againAfter(error, again) };
        throw error;
      } finally {
        isTaken.current = !mayRepeat;
      }
    },
  });
  return {
    mutate: (...input) => {
      if (isTaken.current) return;
      isTaken.current = true;
      mutate(...input);
    },
    reset: () => {
      isTaken.current = false;
      failed.current = { again: {} };
      reset();
    },
    data,
    error,
    isError,
    isPending,
  };
}
