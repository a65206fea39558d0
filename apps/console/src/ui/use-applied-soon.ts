import { useDebouncedCallback } from '@mantine/hooks';
import { useRef } from 'react';

type Change = Readonly<Record<string, unknown>>;

/** Applies the changes of one or several text filters together, once the user has stopped typing. */
export function useAppliedSoon(apply: (change: Change) => void, waitMs: number): (change: Change) => void {
  const pending = useRef<Change>({});
  const flush = useDebouncedCallback(() => {
    const change = pending.current;
    pending.current = {};
    apply(change);
  }, waitMs);
  return (change) => {
    pending.current = { ...pending.current, ...change };
    flush();
  };
}
