import { Alert, Button, Group, Text } from '@mantine/core';
import { IconPlayerPause } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { whyDisabled } from './health.js';
import type { Webhook } from './webhook-reads.js';

/** Says why nothing is sent and what happens to the events, and offers to enable the webhook. */
export const DisabledAlert = ({ webhook: { disabledReason }, isBusy, onEnable }: { readonly webhook: Webhook; readonly isBusy: boolean; readonly onEnable: () => void }): ReactNode => (
  <Alert color={disabledReason === undefined ? 'gray' : 'red'} variant="light" icon={<IconPlayerPause />} title="This webhook is disabled">
    <Group justify="space-between" align="flex-end">
      <div>
        <Text size="sm">{whyDisabled(disabledReason)} Its events are held for 30 days.</Text>
        <Text size="sm">{disabledReason === undefined ? '' : 'Repair the receiver first. '}Once the webhook is enabled, the held events are sent, each order’s in their order.</Text>
      </div>
      <Button size="xs" loading={isBusy} onClick={onEnable}>Enable the webhook</Button>
    </Group>
  </Alert>
);
