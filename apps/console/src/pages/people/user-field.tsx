import { Autocomplete, type AutocompleteProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useUsers } from './people-reads.js';

const typingMs = 400;

/** A field for a user's name, which suggests names as one types. */
export function UserField({ value, onChange, ...props }: Omit<AutocompleteProps, 'value' | 'onChange' | 'data'> & { readonly value: string; readonly onChange: (username: string) => void }): ReactNode {
  const [typed, setTyped] = useState(value);
  const told = useRef(value);
  // Something else changed it, such as "Back".
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setTyped(value);
  }, [value]);
  const tell = useDebouncedCallback((name: string) => {
    told.current = name;
    onChange(name);
  }, typingMs);
  const { data } = useUsers({ q: value === '' ? undefined : value, role: undefined });
  return (
    <Autocomplete
      data={typed.trim() === '' ? [] : [...new Set(data?.pages.flatMap(({ entries }) => entries.map(({ username }) => username)))]}
      limit={8}
      maxLength={64}
      value={typed}
      onChange={(text) => {
        setTyped(text);
        tell(text.trim());
      }}
      {...props}
    />
  );
}
