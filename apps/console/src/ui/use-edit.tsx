import { Alert, Text } from '@mantine/core';
import { ShopProblem } from '@plant-shop/client';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { type Change, useChange } from './use-change.js';
import { type Draft, useDraft } from './use-draft.js';

/** The version that the user saw. */
interface Seen<Values> {
  readonly seen: { readonly etag: string | undefined; readonly values: Values };
}

interface Edit<Values extends object, Thing, Input> {
  readonly draft: Draft<Values & Seen<Values>>;
  readonly save: Change<void, Input>;
  /** After an edit conflict, what it is now: another attempt replaces it. */
  readonly newer: Thing | undefined;
}

/** Returns the newest form with what was changed since `seen`. */
export const rebased = <Form extends object>(form: Form, seen: Form, newest: Form): Form =>
  Object.fromEntries((Object.keys({ ...newest, ...form }) as (keyof Form)[]).map((field) => [field, JSON.stringify(form[field]) === JSON.stringify(seen[field]) ? newest[field] : form[field]])) as Form;

/**
 * The edit of a thing that others may edit, too. It is saved with the version that the user saw, even if the page has read a newer one. After a
 * conflict, the form has what others changed and the user did not.
 * @param form names the draft @param put gets that version's ETag
 */
export function useEdit<Values extends object, Thing, Input>({ form, thing, valuesOf, etag, put, read, onSaved }: {
  readonly form: string;
  readonly thing: Thing;
  readonly valuesOf: (thing: Thing) => Values;
  readonly etag: string | undefined;
  readonly put: (input: Input, header: { readonly 'If-Match'?: string }) => Promise<unknown>;
  readonly read: () => Promise<{ readonly thing: Thing; readonly etag: string | undefined }>;
  readonly onSaved: () => Promise<void>;
}): Edit<Values, Thing, Input> {
  const values = valuesOf(thing);
  const draft = useDraft<Values & Seen<Values>>(form, { ...values, seen: { etag, values } });
  const { seen } = draft.value;
  const [newer, setNewer] = useState<Thing>();
  const save = useChange({
    mutationFn: async (input: Input) => {
      try {
        await put(input, seen.etag === undefined ? {} : { 'If-Match': seen.etag });
      } catch (error) {
        if (isConflict(error)) {
          const now = await read();
          const newest = valuesOf(now.thing);
          draft.change({ ...rebased<Values>(draft.value, seen.values, newest), seen: { etag: now.etag, values: newest } });
          setNewer(now.thing);
        }
        throw error;
      }
    },
    onSuccess: async () => {
      draft.clear();
      await onSaved();
    },
  });
  return { draft, save, newer: isConflict(save.error) ? newer : undefined };
}

const isConflict = (error: unknown): boolean => error instanceof ShopProblem && error.status === 412;

/** Says what it is now, after an edit conflict. */
export function ChangedByOthers({ children }: { readonly children: ReactNode }): ReactNode {
  const notice = useRef<HTMLDivElement>(null);
  // It may be below what is seen of the form, and a second Enter in a field would replace the other's version unseen.
  useEffect(() => notice.current?.focus(), []);
  return (
    <Alert ref={notice} tabIndex={-1} color="yellow" variant="light" title="Someone else has changed it" role="alert">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>It is now: {children}.</Text>
      <Text size="sm">“Replace it” saves what you changed instead. “Cancel” keeps this one.</Text>
    </Alert>
  );
}
