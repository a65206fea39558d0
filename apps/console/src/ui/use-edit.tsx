import { Alert, Text } from '@mantine/core';
import { ShopProblem } from '@plant-shop/client';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { type Change, useChange } from './use-change.js';
import { type Draft, useDraft } from './use-draft.js';

interface Edit<Values extends object, Thing, Input> {
  readonly draft: Draft<Values & { readonly seen: string | undefined }>;
  readonly save: Change<void, Input>;
  /** After an edit conflict, what it is now: another attempt replaces it. */
  readonly newer: Thing | undefined;
}

/**
 * The edit of a thing that others may edit, too. It is saved with the version that the user saw, even if the page has read a newer one.
 * @param form names the draft @param put gets that version's ETag
 */
export function useEdit<Values extends object, Thing, Input>({ form, values, etag, put, read, onSaved }: {
  readonly form: string;
  readonly values: Values;
  readonly etag: string | undefined;
  readonly put: (input: Input, header: { readonly 'If-Match'?: string }) => Promise<unknown>;
  readonly read: () => Promise<{ readonly thing: Thing; readonly etag: string | undefined }>;
  readonly onSaved: () => Promise<void>;
}): Edit<Values, Thing, Input> {
  const draft = useDraft<Values & { readonly seen: string | undefined }>(form, { ...values, seen: etag });
  const { seen } = draft.value;
  const [newer, setNewer] = useState<Thing>();
  const save = useChange({
    mutationFn: async (input: Input) => {
      try {
        await put(input, seen === undefined ? {} : { 'If-Match': seen });
      } catch (error) {
        if (isConflict(error)) {
          const now = await read();
          draft.change({ seen: now.etag } as Partial<Values & { readonly seen: string | undefined }>);
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
      <Text size="sm">“Replace it” saves your version instead. “Cancel” keeps this one.</Text>
    </Alert>
  );
}
