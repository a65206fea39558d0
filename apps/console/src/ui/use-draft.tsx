import { Button, Group, Text } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';
import { usePerson } from '../auth/session.js';
import { prefix, sentOf, wasSent } from './drafts.js';

/** What a user has typed into a form. */
export interface Draft<Value extends object> {
  readonly key: string;
  readonly value: Value;
  readonly change: (part: Partial<Value>) => void;
  /** Whether it was typed, or sent without an answer, before this form opened. */
  readonly isRestored: boolean;
  /** Forgets it, and goes on showing it: the form was sent. */
  readonly forget: () => void;
  /** Forgets it, and begins anew: the form was sent, or the user discards it. */
  readonly clear: () => void;
}

/**
 * State of a form that outlasts its page and the session, until it is sent or the user logs out. The tab keeps it, so that no
 * other tab or later day sees it. Not for secrets.
 * @param form names the form and what it changes: `ship order 7`
 */
export function useDraft<Value extends object>(form: string, initial: Value): Draft<Value> {
  const key = `${prefix}${usePerson().username} ${form}`;
  const [kept] = useState(() => JSON.parse(sessionStorage.getItem(key) ?? 'null') as Value | null);
  // JSON has no undefined: what was only emptied is as at first again, and no draft.
  const [value, setValue] = useState({ ...initial, ...kept });
  // Of two changes before the next rendering, both count.
  const latest = useRef(value);
  const [isRestored, setRestored] = useState(() => JSON.stringify(value) !== JSON.stringify(initial) || wasSent({ key }));
  const show = (shown: Value): void => {
    latest.current = shown;
    setValue(shown);
  };
  const forget = (): void => {
    sessionStorage.removeItem(key);
    sessionStorage.removeItem(sentOf(key));
    setRestored(false);
  };
  return {
    key,
    value,
    change: (part) => {
      const changed = { ...latest.current, ...part };
      show(changed);
      if (JSON.stringify(changed) === JSON.stringify(initial)) sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, JSON.stringify(changed));
    },
    isRestored,
    forget,
    clear: () => {
      forget();
      show(initial);
    },
  };
}

/** Says that a form holds what was typed before; renders nothing otherwise. @param what the parts of it that are in this form; empty: none. Undefined: all */
export const RestoredDraft = ({ draft, what }: { readonly draft: Pick<Draft<object>, 'key' | 'isRestored' | 'clear'>; readonly what?: string }): ReactNode =>
  draft.isRestored && what !== '' && (
    <Group justify="space-between" gap="xs">
      <Text size="sm" c="dimmed" role="status">{wasSent(draft) ? 'This was sent before, and no answer came. Sent again unchanged, it does not happen twice.' : `What you typed before is here again${what === undefined ? '' : `: ${what}`}. It is not saved yet.`}</Text>
      <Button size="compact-sm" variant="default" onClick={draft.clear}>Discard it</Button>
    </Group>
  );
