import { Button, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { Card } from '../../ui/card.js';
import { ChangedMeanwhile } from '../../ui/changed-meanwhile.js';
import { sayDone } from '../../ui/done.js';
import { isolated } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { RestoredDraft, useDraft } from '../../ui/use-draft.js';
import { rebased } from '../../ui/use-edit.js';
import { PlantFields } from './plant-fields.js';
import type { Plant } from './plant-filter.js';
import { differences, formLabels, formOf, plantOfForm, type PlantFormValues, sameForm } from './plant-form-values.js';
import { replacePlant } from './plant-replacement.js';
import { plantQuery, type Versioned } from './plants-queries.js';
import { type Edit, useVersionedForm } from './use-versioned-form.js';

const draftName = (plantId: number): string => `plant ${String(plantId)}`;

/** Edits a plant's name, status, category and tags. */
export function PlantEditor({ plant, mayWrite }: { readonly plant: Versioned<Plant>; readonly mayWrite: boolean }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const query = plantQuery(shop, plant.value.id);
  const editing = useVersionedForm({
    name: draftName(plant.value.id),
    latest: plant,
    formOf,
    isSame: sameForm,
    rebase: rebased,
    read: () => client.query({ ...query, staleTime: 0 }),
    write: (form, base) => replacePlant(shop, base, plantOfForm(form, base.value)),
    onSaved: (saved) => {
      client.setQueryData(query.queryKey, saved);
      void client.invalidateQueries({ queryKey: ['plants'] });
      sayDone(`${isolated(saved.value.name)} is saved.`);
    },
  });
  const theirs = editing.theirs && formOf(editing.theirs.value);
  return (
    <Card title="Description">
      <form onSubmit={(event) => {
        event.preventDefault();
        editing.save();
      }}>
        <fieldset disabled={!mayWrite} style={{ border: 0, padding: 0, margin: 0, minWidth: 0 }}>
          <Stack>
            <RestoredDraft draft={editing.draft} />
            <PlantFields values={editing.form} error={editing.error} onChange={editing.setForm} />
            <ProblemAlert error={editing.error} title="The plant was not saved" />
            {theirs ? (
              <ChangedMeanwhile
                title="Someone else has changed this plant"
                differences={differences(theirs, editing.form).map((field) => ({ label: formLabels[field], theirs: textOf(theirs, field), mine: textOf(editing.form, field) }))}
                takeTheirs="Use the current version"
                keepMine="Overwrite with mine"
                isBusy={editing.isSaving}
                onTakeTheirs={editing.takeTheirs}
              />
            ) : mayWrite && (
              <Group justify="flex-end">
                <Button variant="default" disabled={!editing.isDirty || editing.isSaving} onClick={editing.takeTheirs}>Undo</Button>
                <Button type="submit" disabled={!editing.isDirty} loading={editing.isSaving}>Save</Button>
              </Group>
            )}
          </Stack>
        </fieldset>
      </form>
    </Card>
  );
}

/** What was typed into the form of a plant that somebody has deleted meanwhile: to be copied, or discarded. */
export function TypedPlant({ plantId }: { readonly plantId: number }): ReactNode {
  const { value: { edit }, clear } = useDraft<{ readonly edit?: Edit<Plant, PlantFormValues> }>(draftName(plantId), {});
  return edit && (
    <Card title="What you typed" aside={<Button size="xs" variant="default" onClick={clear}>Discard it</Button>}>
      {differences(formOf(edit.base.value), edit.form).map((field) => <Text key={field} size="sm" style={{ overflowWrap: 'anywhere' }}>{formLabels[field]}: <b>{textOf(edit.form, field)}</b></Text>)}
    </Card>
  );
}

function textOf(form: PlantFormValues, field: keyof PlantFormValues): string {
  const value = form[field];
  const text = typeof value === 'string' ? value : value.join(' | ');
  return text === '' ? '–' : text;
}
