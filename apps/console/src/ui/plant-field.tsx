import type { AutocompleteProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useShop } from '../auth/session.js';
import { plantNameQuery } from '../shop/plant-name.js';
import { SuggestingField } from './suggesting-field.js';
import { wholeNumber } from './whole-number.js';

const typingMs = 200;
const mostSuggested = 8;

/**
 * A field for a plant: its number, or words of its name, which find it. A form with other text in it is not sent.
 * @param text what was typed before, if it is kept elsewhere (`onText`)
 */
export function PlantField({ value, text: kept, onChange, onText, error, ...props }: Omit<AutocompleteProps, 'value' | 'onChange' | 'data'> & {
  readonly value: number | undefined;
  readonly text?: string | undefined;
  readonly onChange: (plantId: number | undefined) => void;
  readonly onText?: (text: string) => void;
}): ReactNode {
  const shop = useShop();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(kept);
  const [isTyping, setTyping] = useState(false);
  /** Texts with a plant's number at their end that are meant for it. An edited one is none: it would name one plant and mean another. */
  const [chosen, setChosen] = useState(kept);
  const plantOf = (one: string): number | undefined => wholeNumber(one, { min: 1 }) ?? (one === chosen ? wholeNumber(/ · (\d+)$/.exec(one)?.[1] ?? '', { min: 1 }) : undefined);
  const told = useRef(value);
  // Something else changed it, such as "Back" or "Clear".
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setTyped(undefined);
  }, [value]);
  const named = useQuery({ ...plantNameQuery(shop, value ?? 0), enabled: value !== undefined && typed === undefined });
  const text = typed ?? (value === undefined ? '' : named.data === undefined ? String(value) : textOf(value, named.data));
  const [words] = useDebouncedValue(text.trim(), typingMs);
  const isSearch = typed !== undefined && typed.trim() !== '' && plantOf(typed) === undefined;
  const { data: found, isError } = useQuery({
    queryKey: ['plants', 'named', words],
    enabled: isSearch && words !== '',
    queryFn: async ({ signal }) => (await shop.GET('/plant/search', { params: { query: { q: words.slice(0, 200), limit: mostSuggested } }, signal })).data,
  });
  const isKnown = isSearch && words === text.trim() && (found !== undefined || isError);
  const missing = isError ? 'Plants could not be searched. Write the plant’s number.' : found?.length === 0 ? 'No plant is called that.' : choose;
  useEffect(() => input.current?.setCustomValidity(isSearch ? choose : ''), [isSearch]);
  const suggestions = isSearch ? (found ?? []).map(({ id, name }) => textOf(id, name)) : [];
  const change = (changed: string): void => {
    setTyped(changed);
    onText?.(changed);
    const suggested = found?.find(({ id, name }) => textOf(id, name) === changed);
    if (suggested) setChosen(changed);
    const plantId = suggested?.id ?? plantOf(changed);
    if (plantId === told.current) return;
    told.current = plantId;
    onChange(plantId);
  };
  return (
    <SuggestingField
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      // It may yet become a name: no error before the field is left.
      description={isTyping && isKnown && missing !== choose ? missing : undefined}
      {...props}
      ref={input}
      suggestions={suggestions}
      maxLength={220}
      value={text}
      onTyping={setTyping}
      onChange={change}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !isSearch) return;
        const [only] = isKnown && suggestions.length === 1 ? suggestions : [];
        if (only === undefined) {
          setTyping(false);
          return;
        }
        event.preventDefault();
        change(only);
      }}
      error={!isTyping && isKnown ? missing : error}
    />
  );
}

const choose = 'Choose a plant of the list, or write its number.';
const textOf = (plantId: number, name: string): string => `${name} · ${plantId}`;
