import { Alert, Button, Card, Group, Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { useMay, useShop } from '../../auth/session.js';
import { sayDone } from '../../ui/done.js';
import { sendOnce } from '../../ui/drafts.js';
import { isolated } from '../../ui/numbers.js';
import { PageHeader } from '../../ui/page-header.js';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { useChange } from '../../ui/use-change.js';
import { RestoredDraft, useDraft } from '../../ui/use-draft.js';
import { WholeNumberInput } from '../../ui/whole-number-input.js';
import { PlantFields } from './plant-fields.js';
import { emptyForm, mostUnits, plantOfForm } from './plant-form-values.js';

export function NewPlantPage(): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const navigate = useNavigate();
  const mayWrite = useMay('write:plants');
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);
  const draft = useDraft('new plant', { values: emptyForm, quantity: '' });
  const { values, quantity } = draft.value;
  const creating = useChange({
    mutationFn: async () => (await sendOnce(draft, { ...plantOfForm(values), ...(quantity.trim() !== '' && { quantity: Number(quantity) }) }, (body, idempotencyKey) => shop.POST('/plant', { body, idempotencyKey }))).data,
    onSuccess: async (plant) => {
      sayDone(`${isolated(plant.name)} was added.`);
      draft.clear();
      void client.invalidateQueries({ queryKey: ['plants'] });
      // Not if the reader has gone on to another page.
      if (isOpen.current) await navigate({ to: '/plants/$plantId', params: { plantId: String(plant.id) } });
    },
  });
  return (
    <>
      <PageHeader title="New plant" text="You can add images after creating the plant." />
      {!mayWrite && <Alert color="yellow" variant="light" mb="md" maw={640} title="Only staff add plants">Your role does not allow changing plants. Ask an administrator.</Alert>}
      <Card withBorder maw={640}>
        <form onSubmit={(event) => {
          event.preventDefault();
          creating.mutate();
        }}>
          <Stack>
            <RestoredDraft draft={draft} />
            <PlantFields values={values} error={creating.error} onChange={(changed) => draft.change({ values: changed })} />
            <WholeNumberInput label="Units in stock" description="Empty: the shop’s default." max={mostUnits} value={quantity} onChange={(changed) => draft.change({ quantity: changed })} error={faultOf(creating.error, 'quantity')} w={260} />
            <ProblemAlert error={creating.error} title="The plant was not added" />
            <Group justify="flex-end">
              <Button component={Link} to="/plants" variant="default">Cancel</Button>
              <Button type="submit" loading={creating.isPending} disabled={!mayWrite}>Add the plant</Button>
            </Group>
          </Stack>
        </form>
      </Card>
    </>
  );
}
