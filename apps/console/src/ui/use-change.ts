import { ShopError } from '@plant-shop/client';
// oxlint-disable-next-line no-restricted-imports
import { type UseMutationOptions, type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useRef } from 'react';

/** Options of the request that repeats one whose answer was lost; otherwise none. */
export interface Again {
  readonly idempotencyKey?: string;
}

export type Change<Data, Input> = Pick<UseMutationResult<Data, Error, Input>, 'mutate' | 'reset' | 'data' | 'error' | 'isError' | 'isPending'>;

/**
 * A change in the shop that a double click or a second Enter does not repeat. It is made once: again only after it failed, or after
 * `reset`, which a form calls that opens anew. If its answer was lost, the same change gets the key of that attempt: with it, the shop does
 * it only once.
 * @param isRepeatable whether it may be made again once it is done, such as sending a test event
 */
export function useChange<Data, Input = void>({ mutationFn, isRepeatable = false, ...options }: {
  readonly mutationFn: (input: Input, again: Again) => Promise<Data>;
  readonly isRepeatable?: boolean;
} & Pick<UseMutationOptions<Data, Error, Input>, 'onSuccess' | 'onError' | 'onSettled' | 'gcTime'>): Change<Data, Input> {
  // State would be too late: a second click may come before the page has rendered.
  const isTaken = useRef(false);
  const lost = useRef<{ readonly input: string | undefined; readonly again: Again }>(undefined);
  const { mutate, reset, data, error, isError, isPending } = useMutation<Data, Error, Input>({
    ...options,
    mutationFn: async (input) => {
      let mayRepeat = true;
      const text = JSON.stringify(input) as string | undefined;
      const again = lost.current?.input === text ? (lost.current?.again ?? {}) : {};
      lost.current = undefined;
      try {
        const done = await mutationFn(input, again);
        mayRepeat = isRepeatable;
        return done;
      } catch (error) {
        if (error instanceof ShopError && error.outcome === 'unknown' && error.idempotencyKey !== undefined) lost.current = { input: text, again: { idempotencyKey: error.idempotencyKey } };
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
      lost.current = undefined;
      reset();
    },
    data,
    error,
    isError,
    isPending,
  };
}
