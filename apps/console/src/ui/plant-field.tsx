import { Autocomplete, type AutocompleteProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useShop } from '../auth/session.js';
import { wholeNumber } from './whole-number.js';

const typingMs = 200;
const mostSuggested = 8;

/** A field for a plant: its number, or words of its name, which find it. A form with other text in it is not sent. */
export function PlantField({ value, onChange, error, ...props }: Omit<AutocompleteProps, 'value' | 'onChange' | 'data'> & {
  readonly value: number | undefined;
  readonly onChange: (plantId: number | undefined) => void;
}): ReactNode {
  const shop = useShop();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(textOf(value));
  const told = useRef(value);
  // Something else changed it, such as "Back" or "Clear".
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setText(textOf(value));
  }, [value]);
  const [words] = useDebouncedValue(text.trim(), typingMs);
  const isSearch = text.trim() !== '' && plantOf(text) === undefined;
  const { data: found } = useQuery({
    queryKey: ['plants', 'named', words],
    enabled: isSearch && words !== '',
    queryFn: async ({ signal }) => (await shop.GET('/plant/search', { params: { query: { q: words.slice(0, 200), limit: mostSuggested } }, signal })).data,
  });
  const isKnown = isSearch && words === text.trim() && found !== undefined;
  useEffect(() => input.current?.setCustomValidity(isSearch ? 'Choose a plant of the list, or write its number.' : ''), [isSearch]);
  return (
    <Autocomplete
      ref={input}
      data={isSearch ? (found ?? []).map(({ id, name }) => `${name} · ${id}`) : []}
      // The shop's search has found them, also by other spellings.
      filter={({ options }) => options}
      maxLength={220}
      value={text}
      onChange={(typed) => {
        setText(typed);
        const plantId = plantOf(typed);
        if (plantId === told.current) return;
        told.current = plantId;
        onChange(plantId);
      }}
      error={isKnown && found.length === 0 ? 'No plant is called that.' : error}
      {...props}
    />
  );
}

const textOf = (plantId: number | undefined): string => (plantId === undefined ? '' : String(plantId));
/** Of a number, or of a chosen suggestion. */
const plantOf = (text: string): number | undefined => wholeNumber(/ · (\d+)$/.exec(text)?.[1] ?? text, { min: 1 });
