import { useDebouncedCallback } from '@mantine/hooks';
import { createContext, useEffect, useRef, useState } from 'react';

/** The search of a page's address, also of a page that is kept while another is shown. */
export const PageSearch = createContext<Readonly<Record<string, unknown>>>({});

/**
 * The text of a filter's field, applied once the user has stopped typing.
 * @param value of the address, which the field follows @param apply gets the text without spaces around it
 */
export function useTypedFilter(value: string, apply: (text: string) => void, waitMs: number): readonly [text: string, type: (text: string) => void] {
  const [text, setText] = useState(value);
  const applied = useRef(value);
  const applySoon = useDebouncedCallback((typed: string) => {
    applied.current = typed.trim();
    apply(applied.current);
  }, waitMs);
  // Something else changed the address, such as "Back" or a link to the page.
  useEffect(() => {
    if (value === applied.current) return;
    applied.current = value;
    setText(value);
  }, [value]);
  // The page is left: what is not applied yet is forgotten.
  useEffect(() => () => setText(applied.current), []);
  return [
    text,
    (typed) => {
      setText(typed);
      applySoon(typed);
    },
  ];
}
