import { useMemo } from 'react';

/** Returns the earlier value while it is equal, so that memoised components do not render again. For JSON values. */
export function useStable<Value>(value: Value): Value {
  const text = JSON.stringify(value);
  return useMemo(() => JSON.parse(text) as Value, [text]);
}
