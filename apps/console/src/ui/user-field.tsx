import type { AutocompleteProps } from '@mantine/core';
import type { Shop } from '@plant-shop/client';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useMay, useShop } from '../auth/session.js';
import { trimmed } from './numbers.js';
import { SuggestingField } from './suggesting-field.js';

const typingMs = 200;
const mostSuggested = 8;
/** Orders in which names are looked for, as many as the shop searches for a page. */
const mostOrders = 100;

/** A field for a username. It suggests names that begin with what is typed, and takes any name as it is. */
export function UserField({ value, onChange, ...props }: Omit<AutocompleteProps, 'value' | 'onChange' | 'data'> & {
  readonly value: string;
  readonly onChange: (username: string) => void;
}): ReactNode {
  const shop = useShop();
  const mayList = useMay('write:users');
  const mayRead = useMay('read:orders');
  const [isTyping, setTyping] = useState(false);
  const typed = trimmed(value);
  const [words] = useDebouncedValue(typed, typingMs);
  const { data: found = [], isError } = useQuery({
    queryKey: ['users', 'named', words, mayList],
    enabled: isTyping && words !== '' && words.length <= 64 && (mayList || mayRead),
    queryFn: ({ signal }) => (mayList ? namesOf(shop, words, signal) : ownersOf(shop, words, signal)),
  });
  const isSuggested = isTyping && words === typed && !(found.length === 1 && found[0] === typed);
  return (
    <SuggestingField
      {...props}
      {...(isTyping && isError && { description: 'Users could not be searched. Write the whole name.' })}
      suggestions={isSuggested ? found : []}
      maxLength={200}
      autoCapitalize="none"
      spellCheck={false}
      value={value}
      onChange={onChange}
      onTyping={setTyping}
    />
  );
}

async function namesOf(shop: Shop, q: string, signal: AbortSignal): Promise<readonly string[]> {
  const { data } = await shop.GET('/user', { params: { query: { q, limit: mostSuggested } }, signal });
  return data.map(({ username }) => username);
}

/** Who may not list users still reads who owns the orders. */
async function ownersOf(shop: Shop, q: string, signal: AbortSignal): Promise<readonly string[]> {
  const { data } = await shop.GET('/store/order', { params: { query: { owner: '*', q, limit: mostOrders } }, signal });
  const owners = new Set(data.flatMap(({ owner }) => (owner?.toLowerCase().startsWith(q.toLowerCase()) === true ? [owner] : [])));
  return [...owners].sort().slice(0, mostSuggested);
}
