import { useDebouncedCallback } from '@mantine/hooks';
import { useRef } from 'react';

type Change = Readonly<Record<string, unknown>>;

/** For filters that are typed: applies what was changed once nothing was typed for a while, several fields together. */
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
