import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { createContext, use, useEffect, useRef, useState } from 'react';
import { trimmed } from './numbers.js';

/** Characters of a search that the shop takes. */
export const mostSearched = 200;

export const tooLong = (text = ''): string | undefined => (text.trim().length > mostSearched ? `Only the first ${mostSearched} characters are searched for.` : undefined);

/** A text in an address: the router reads digits as a number, and `true` as a truth. @returns undefined if there is none */
export const searchText = (value: unknown): string | undefined => {
  const text = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
  return text === '' ? undefined : text;
};

/** Those of these names that an address has. */
export const searchTexts = <Name extends string>(search: Record<string, unknown>, ...names: readonly Name[]): Partial<Record<Name, string>> =>
  Object.fromEntries(names.flatMap((name) => {
    const text = searchText(search[name]);
    return text === undefined ? [] : [[name, text]];
  })) as Partial<Record<Name, string>>;

/** The search of a page's address, also of a page that is kept while another is shown. */
export const PageSearch = createContext<Readonly<Record<string, unknown>>>({});

/** Filters that are typed, of any page. */
const typed = ['q', 'owner', 'by', 'to', 'from', 'before', 'order'];

/** Whether a change of the filters only goes on with a text that was begun. "Back" undoes each other change by itself. */
export const isTypedOn = (before: object, after: object): boolean => {
  const [was, is] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...was.keys(), ...is.keys()])].every((name) => JSON.stringify(was.get(name)) === JSON.stringify(is.get(name)) || (typed.includes(name) && was.has(name) && is.has(name)));
};

/** The filters in the address of a page, and what changes some of them. @param read omits empty and invalid values */
export function useFilters<Filters extends object>(read: (search: Record<string, unknown>) => Filters): readonly [filters: Filters, change: (change: Readonly<Record<string, unknown>>) => void] {
  const filters = read(use(PageSearch));
  const navigate = useNavigate();
  return [
    filters,
    (change) => void navigate({ to: '.', search: (before: object) => read({ ...before, ...change }), replace: isTypedOn(filters, read({ ...filters, ...change })), resetScroll: false }),
  ];
}

/**
 * The text of a filter's field, applied once the user has stopped typing.
 * @param value of the address, which the field follows @param apply gets the text without spaces around it
 */
export function useTypedFilter(value: string, apply: (text: string) => void, waitMs: number): readonly [text: string, type: (text: string) => void] {
  const [text, setText] = useState(value);
  const applied = useRef(value);
  const applySoon = useDebouncedCallback((typed: string) => {
    applied.current = trimmed(typed);
    apply(applied.current);
  }, waitMs);
  // Something else changed the address, such as "Back" or a link to the page.
  useEffect(() => {
    if (value === applied.current) return;
    applySoon.cancel();
    applied.current = value;
    setText(value);
  }, [value, applySoon]);
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
