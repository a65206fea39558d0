import { Button, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { BackButton, Dialog } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { faultOf } from '../../ui/problem.js';
import { TimeInput } from '../../ui/time-input.js';
import { useChange } from '../../ui/use-change.js';
import { RestoredDraft, useDraft } from '../../ui/use-draft.js';
import type { Destination } from './destination-reads.js';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

interface PeriodValues {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Has the events of a period published again. */
export function ReplayDestination({ destination: { id: destinationId, state, held, replay }, onClose }: { readonly destination: Destination; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const [yesterday] = useState(() => new Date(Math.floor(Date.now() / minuteMs) * minuteMs - dayMs).toISOString());
  const draft = useDraft<PeriodValues>(`replay of destination ${destinationId}`, { since: yesterday });
  const { since, until } = draft.value;
  const begin = useChange({
    mutationFn: (body: { since: string; until?: string }, again) => shop.POST('/destinations/{destinationId}/replay', { params: { path: { destinationId } }, body, ...again }),
    onSuccess: async () => {
      sayDone(held === undefined && state === 'enabled' ? 'The events of the period are being published again.' : `The events of the period are published again once the destination ${state === 'enabled' ? 'takes events' : 'is enabled'}.`);
      draft.clear();
      onClose();
      await client.invalidateQueries({ queryKey: ['destination', destinationId] });
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (since !== undefined) begin.mutate({ since, ...(until !== undefined && { until }) });
  };
  return (
    <Dialog isBusy={begin.isPending} onClose={onClose} title="Replay a period" size="lg">
      <form onSubmit={submit}>
        <Stack>
          <RestoredDraft draft={draft} />
          <Text size="sm">The shop publishes the matching events of the period again, with the same ids, beside new ones. The stream drops those that it got within its duplicate window.</Text>
          {replay && <Text size="sm" fw={500}>It replaces the replay that is under way.</Text>}
          <TimeInput label="Since" required data-autofocus value={since} onChange={(value) => draft.change({ since: value })} error={faultOf(begin.error, 'since')} />
          <TimeInput label="Before" after={since} description="Empty: until now." value={until} onChange={(value) => draft.change({ until: value })} error={faultOf(begin.error, 'until')} />
          <ProblemAlert error={begin.error} />
          <Group justify="flex-end">
            <BackButton label="Cancel" />
            <Button type="submit" loading={begin.isPending}>Publish them again</Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
