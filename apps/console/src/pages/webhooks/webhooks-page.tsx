import { Anchor, Button, Center, Group, Paper, SegmentedControl, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { ShopProblem } from '@plant-shop/client';
import { IconPlus, IconWebhook } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../../auth/session.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { PageHeader } from '../../ui/page-header.js';
import { useFilters, useTypedFilter } from '../../ui/page-search.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { UserField } from '../../ui/user-field.js';
import { CreateWebhook } from './create-webhook.js';
import { EventsOf } from './event-filter.js';
import { ShortHealth } from './health-badge.js';
import { useWebhooks, type Webhook } from './webhook-reads.js';
import { webhooksSearch } from './webhooks-search.js';

/** Delay after the last keystroke. */
const typingMs = 400;

export function WebhooksPage(): ReactNode {
  const [filter, apply] = useFilters(webhooksSearch);
  const { owner, failing } = filter;
  const seesAll = useMay('manage:orders');
  const [typed, type] = useTypedFilter(owner ?? '', (text) => apply({ owner: text }), typingMs);
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useWebhooks(filter);
  const webhooks = data?.pages.flatMap((page) => page.webhooks) ?? [];
  const isFiltered = failing !== undefined || owner !== undefined;
  // Also while the name is being typed.
  const isNobody = owner !== undefined && error instanceof ShopProblem && error.is('user-not-found');
  const [isCreating, { open, close }] = useDisclosure();
  const newButton = <Button leftSection={<IconPlus size={16} />} onClick={open}>New webhook</Button>;
  return (
    <>
      <PageHeader title="Webhooks" tab={failing ? 'Failing' : undefined} text={`Endpoints to which the shop sends order events. ${seesAll ? 'You see those of all users, and change your own.' : 'You see only your own.'}`}>{newButton}</PageHeader>
      {(seesAll || isFiltered || webhooks.length > 1) && (
        <Group align="flex-end" mb="sm">
          {seesAll && <UserField label="Owner" placeholder="Anyone" w={220} value={typed} onChange={type} />}
          <SegmentedControl aria-label="Which webhooks" data={[{ value: 'all', label: 'All' }, { value: 'failing', label: 'Failing' }]} value={failing ? 'failing' : 'all'} onChange={(value) => apply({ failing: value === 'failing' })} />
        </Group>
      )}
      {isNobody ? <EmptyState icon={IconWebhook} title={`No user is called ${owner}`} text="Write the whole username." /> : <ProblemAlert error={error} title="The webhooks could not be loaded" isShown={webhooks.length > 0} />}
      {isPending && <Loading />}
      {data !== undefined && webhooks.length === 0 && error === null && (
        isFiltered
          ? <EmptyState icon={IconWebhook} title={`${failing ? 'No webhook' : 'No webhooks'}${owner === undefined ? '' : ` of ${owner}`}${failing ? ' fails' : ''}`} text="Clear a filter to see more." />
          : <EmptyState icon={IconWebhook} title="No webhooks yet" text="A webhook sends each order event to a program of yours as an HTTP request. To begin, create one with the program’s address." />
      )}
      {webhooks.length > 0 && !isNobody && <Endpoints webhooks={webhooks} isOfAll={seesAll} />}
      {hasNextPage && !isNobody && <Center mt="md"><Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show older</Button></Center>}
      {isCreating && <CreateWebhook onClose={close} />}
    </>
  );
}

const Endpoints = ({ webhooks, isOfAll }: { readonly webhooks: readonly Webhook[]; readonly isOfAll: boolean }): ReactNode => (
  <Paper withBorder>
    <Table.ScrollContainer minWidth={720}>
      <Table verticalSpacing="sm" aria-label="Webhooks">
        <Table.Thead>
          <Table.Tr><Table.Th>Webhook</Table.Th>{isOfAll && <Table.Th>Owner</Table.Th>}<Table.Th>Health</Table.Th><Table.Th>Events</Table.Th><Table.Th>Created</Table.Th></Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {webhooks.map((webhook) => (
            <Table.Tr key={webhook.id}>
              <Table.Td maw={340} style={{ overflowWrap: 'anywhere' }}>
                <Anchor component={Link} to={`/webhooks/${webhook.id}`} size="sm" fw={500}>{webhook.name ?? webhook.url}</Anchor>
                {webhook.name !== undefined && <Text size="xs" c="dimmed">{webhook.url}</Text>}
                {webhook.description !== undefined && <Text size="sm" c="dimmed" lineClamp={2}>{webhook.description}</Text>}
              </Table.Td>
              {isOfAll && <Table.Td maw={160} style={{ overflowWrap: 'anywhere' }}>{webhook.owner ?? '–'}</Table.Td>}
              <Table.Td maw={320}><ShortHealth webhook={webhook} /></Table.Td>
              <Table.Td><EventsOf filter={webhook} /></Table.Td>
              <Table.Td><Time at={webhook.createdAt} size="sm" /></Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  </Paper>
);
