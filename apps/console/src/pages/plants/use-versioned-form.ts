import { ShopProblem } from '@plant-shop/client';
import { useRef, useState } from 'react';
import { useChange } from '../../ui/use-change.js';
import { type Draft, useDraft } from '../../ui/use-draft.js';
import type { Versioned } from './plants-queries.js';

/** What a form has typed, and what it was made of. */
export interface Edit<Value, Form> {
  readonly base: Versioned<Value>;
  readonly form: Form;
}

export interface VersionedForm<Value, Form> {
  readonly form: Form;
  readonly setForm: (form: Form) => void;
  readonly isDirty: boolean;
  /** What was typed before, and is not saved yet. */
  readonly draft: Pick<Draft<object>, 'key' | 'isRestored' | 'clear'>;
  /** After a conflict it replaces the newer version. */
  readonly save: () => void;
  readonly isSaving: boolean;
  readonly error: unknown;
  /** The newer version after a conflict; `form` still holds what was typed. */
  readonly theirs: Versioned<Value> | undefined;
  readonly takeTheirs: () => void;
}

/**
 * A form for data that others may change, too. While unchanged, it shows the newest version. Once edited, it keeps the
 * version that the user saw. What others changed of it is kept on saving, and a conflict is the user's choice.
 */
export function useVersionedForm<Value, Form>({ name, latest, formOf, isSame, rebase = (form, seen, newest) => (isSame(form, seen) ? newest : form), read, write, onSaved }: {
  /** Of the draft. */
  readonly name: string;
  readonly latest: Versioned<Value>;
  readonly formOf: (value: Value) => Form;
  readonly isSame: (one: Form, other: Form) => boolean;
  /** Returns a form in which only what the user changed since `seen` differs from `newest`; by default, the form is one field. */
  readonly rebase?: (form: Form, seen: Form, newest: Form) => Form;
  /** Reads the newest version, so that it is `latest`. */
  readonly read: () => Promise<Versioned<Value>>;
  /** @throws ShopProblem with status 412 if `base` is outdated */
  readonly write: (form: Form, base: Versioned<Value>) => Promise<Versioned<Value>>;
  readonly onSaved: (saved: Versioned<Value>) => void;
}): VersionedForm<Value, Form> {
  const { key, value: { edit }, change, isRestored, clear } = useDraft<{ edit?: Edit<Value, Form> | undefined }>(name, {});
  const [isConflict, setConflict] = useState(false);
  // It may change again while the user chooses.
  const theirs = isConflict ? latest : undefined;
  const isNews = (one: Versioned<Value>, other: Versioned<Value>): boolean => !isSame(formOf(one.value), formOf(other.value));
  // Fields that the form does not contain may change meanwhile.
  const base = edit && isNews(edit.base, latest) ? edit.base : latest;
  const form = edit ? (theirs ? rebase(edit.form, formOf(base.value), formOf(theirs.value)) : edit.form) : formOf(latest.value);
  const shown = useRef(form);
  shown.current = form;

  const saving = useChange({
    isRepeatable: true,
    mutationFn: async (from: Versioned<Value>): Promise<{ saved: Versioned<Value>; sent: Form } | { asks: true }> => {
      for (let [known, mine] = [from, form]; ; ) {
        try {
          return { saved: await write(mine, known), sent: form };
        } catch (error) {
          if (!(error instanceof ShopProblem) || error.status !== 412) throw error;
          const newest = await read();
          if (newest.etag === known.etag) throw error;
          const [seen, now] = [formOf(known.value), formOf(newest.value)];
          const merged = rebase(mine, seen, now);
          // Which of the two came first makes a difference: both changed the same.
          if (!isSame(merged, rebase(now, seen, mine))) return { asks: true };
          [known, mine] = [newest, merged];
        }
      }
    },
    onSuccess: (outcome) => {
      setConflict('asks' in outcome);
      if ('asks' in outcome) return;
      clear();
      onSaved(outcome.saved);
      // What was typed meanwhile is not saved yet.
      if (!isSame(shown.current, outcome.sent)) change({ edit: { base: outcome.saved, form: shown.current } });
    },
  });

  const takeTheirs = (): void => {
    clear();
    setConflict(false);
    saving.reset();
  };
  const isDirty = !isSame(form, formOf(base.value));
  return {
    form,
    setForm: (changed) => change({ edit: isSame(changed, formOf(base.value)) ? undefined : { base, form: changed } }),
    isDirty,
    draft: { key, isRestored: isRestored && isDirty, clear: takeTheirs },
    save: () => saving.mutate(theirs ?? base),
    isSaving: saving.isPending,
    error: saving.error,
    theirs,
    takeTheirs,
  };
}
