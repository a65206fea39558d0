import { Alert, Group, Text } from '@mantine/core';
import { IconPlayerPause } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { whyDisabled } from './health.js';
import { isOwn, type Webhook } from './webhook-reads.js';

/** Says why nothing is sent and what happens to the events, and offers what its owner can do. */
export const DisabledAlert = ({ webhook, webhook: { disabledReason }, children }: { readonly webhook: Webhook; readonly children?: ReactNode }): ReactNode => (
  <Alert color={disabledReason === undefined ? 'gray' : 'red'} variant="light" icon={<IconPlayerPause />} title="This webhook is disabled">
    <Group justify="space-between" align="flex-end">
      <div>
        <Text size="sm">{whyDisabled(disabledReason)} Its events are held for 30 days.</Text>
        <Text size="sm">{disabledReason !== undefined && isOwn(webhook) && 'Repair the receiver first. '}Once the webhook is enabled, the held events are sent, each order’s in their order.</Text>
      </div>
      {children}
    </Group>
  </Alert>
);
