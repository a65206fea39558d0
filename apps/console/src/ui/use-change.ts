// oxlint-disable-next-line no-restricted-imports
import { type UseMutationOptions, type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useRef } from 'react';

export type Change<Data, Input> = Pick<UseMutationResult<Data, Error, Input>, 'mutate' | 'reset' | 'data' | 'error' | 'isError' | 'isPending'>;

/**
 * A change in the shop that a double click or a second Enter does not repeat. It is made once: again only after it failed, or after
 * `reset`, which a form calls that opens anew.
 * @param isRepeatable whether it may be made again once it is done, such as sending a test event
 */
export function useChange<Data, Input = void>({ mutationFn, isRepeatable = false, ...options }: {
  readonly mutationFn: (input: Input) => Promise<Data>;
  readonly isRepeatable?: boolean;
} & Pick<UseMutationOptions<Data, Error, Input>, 'onSuccess' | 'onError' | 'onSettled' | 'gcTime'>): Change<Data, Input> {
  // State would be too late: a second click may come before the page has rendered.
  const isTaken = useRef(false);
  const { mutate, reset, data, error, isError, isPending } = useMutation<Data, Error, Input>({
    ...options,
    mutationFn: async (input) => {
      let mayRepeat = true;
      try {
        const done = await mutationFn(input);
        mayRepeat = isRepeatable;
        return done;
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
      reset();
    },
    data,
    error,
    isError,
    isPending,
  };
}
