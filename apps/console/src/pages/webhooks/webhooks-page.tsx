import { Anchor, Button, Paper, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus, IconWebhook } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { CreateWebhook } from './create-webhook.js';
import { EventsOf } from './event-filter.js';
import { HealthBadge } from './health-badge.js';
import { useWebhooks, type Webhook } from './webhook-reads.js';

export function WebhooksPage(): ReactNode {
  const { data, error, isPending } = useWebhooks();
  const [isCreating, { open, close }] = useDisclosure();
  const newButton = <Button leftSection={<IconPlus size={16} />} onClick={open}>New webhook</Button>;
  return (
    <>
      <PageHeader title="Webhooks" text="Endpoints to which the shop sends order events. You see only your own.">{newButton}</PageHeader>
      <ProblemAlert error={error} title="The webhooks could not be loaded" />
      {isPending && <Loading />}
      {data?.length === 0 && <EmptyState icon={IconWebhook} title="No webhooks yet" text="A webhook sends each order event to a program of yours as an HTTP request. To begin, create one with the program’s address." />}
      {data !== undefined && data.length > 0 && <Endpoints webhooks={data} />}
      {isCreating && <CreateWebhook onClose={close} />}
    </>
  );
}

const Endpoints = ({ webhooks }: { readonly webhooks: readonly Webhook[] }): ReactNode => (
  <Paper withBorder>
    <Table.ScrollContainer minWidth={720}>
      <Table verticalSpacing="sm" aria-label="Webhooks">
        <Table.Thead>
          <Table.Tr><Table.Th>Webhook</Table.Th><Table.Th>Health</Table.Th><Table.Th>Events</Table.Th><Table.Th>Created</Table.Th></Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {webhooks.map((webhook) => (
            <Table.Tr key={webhook.id}>
              <Table.Td maw={340}>
                <Anchor component={Link} to={`/webhooks/${webhook.id}`} size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>{webhook.name ?? webhook.url}</Anchor>
                {webhook.name !== undefined && <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>{webhook.url}</Text>}
                {webhook.description !== undefined && <Text size="sm" c="dimmed" lineClamp={2}>{webhook.description}</Text>}
              </Table.Td>
              <Table.Td maw={320}><HealthBadge webhook={webhook} /></Table.Td>
              <Table.Td><EventsOf filter={webhook} /></Table.Td>
              <Table.Td><Time at={webhook.createdAt} size="sm" /></Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  </Paper>
);
