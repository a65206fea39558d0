import { Alert, Anchor, Button, Group, Menu, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconArrowLeft, IconDots, IconPencil, IconPlayerPause, IconPlayerPlay, IconRepeat, IconTrash } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Fact } from '../../ui/card.js';
import { goBack } from '../../ui/anchor-link.js';
import { UnlessGone } from '../../ui/dialog.js';
import { Gone } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { formatNumber } from '../../ui/numbers.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { formatExact, Time } from '../../ui/time.js';
import { EventsOf } from '../webhooks/event-filter.js';
import { DeleteDestination } from './delete-destination.js';
import { type Destination, useDestination } from './destination-reads.js';
import { remedyOf, whyHeld } from './destination-status.js';
import { StatusOf } from './destinations-page.js';
import { ReplayDestination } from './replay-destination.js';
import { EditDestination, useSetState } from './save-destination.js';

const route = getRouteApi('/destinations/$destinationId');

export function DestinationPage(): ReactNode {
  const { destinationId } = route.useParams();
  const { data, error, isPending } = useDestination(destinationId);
  const back = <Anchor component={Link} to="/destinations" onClick={goBack} size="sm" mb="xs" display="inline-block"><Group gap={4}><IconArrowLeft size={16} aria-hidden /> All destinations</Group></Anchor>;
  return (
    <UnlessGone error={error} gone={<>{back}<PageHeader title={data?.destination.name ?? 'Destination'} /><Gone what="Destination" /></>}>
      {back}
      {data === undefined ? <PageHeader title="Destination" /> : <Header destination={data.destination} etag={data.etag} />}
      {isPending && <Loading />}
      <ProblemAlert error={error} title="The destination could not be loaded" isShown={data !== undefined} />
      {data !== undefined && <Facts destination={data.destination} />}
    </UnlessGone>
  );
}

type DialogName = 'edit' | 'replay' | 'delete';

function Header({ destination, etag }: { readonly destination: Destination; readonly etag: string | undefined }): ReactNode {
  const [dialog, setDialog] = useState<DialogName>();
  const close = (): void => setDialog(undefined);
  const setState = useSetState(destination, etag);
  const isEnabled = destination.state === 'enabled';
  return (
    <>
      <PageHeader title={destination.name} text={`${destination.url} · ${destination.stream}`}>
        <Button variant="default" leftSection={<IconRepeat size={16} />} onClick={() => setDialog('replay')}>Replay</Button>
        <Button variant="default" leftSection={<IconPencil size={16} />} onClick={() => setDialog('edit')}>Edit</Button>
        <Menu position="bottom-end">
          <Menu.Target><Button variant="default" px="xs" aria-label="More actions"><IconDots size={18} /></Button></Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={isEnabled ? <IconPlayerPause size={16} /> : <IconPlayerPlay size={16} />} onClick={() => setState.mutate(isEnabled ? 'disabled' : 'enabled')}>{isEnabled ? 'Disable' : 'Enable'}</Menu.Item>
            <Menu.Divider />
            <Menu.Item c="var(--mantine-color-error)" leftSection={<IconTrash size={16} />} onClick={() => setDialog('delete')}>Delete</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </PageHeader>
      <Stack mb="md" gap="sm">
        {isEnabled && destination.held && <HeldAlert destination={destination} held={destination.held} />}
        {!isEnabled && <DisabledAlert isBusy={setState.isPending} onEnable={() => setState.mutate('enabled')} />}
        {destination.replay && <ReplayAlert replay={destination.replay} isPublishing={isEnabled && destination.held === undefined} />}
        <ProblemAlert error={setState.error} title="The destination was not changed" />
      </Stack>
      {dialog === 'edit' && <EditDestination destination={destination} etag={etag} onClose={close} />}
      {dialog === 'replay' && <ReplayDestination destination={destination} onClose={close} />}
      {dialog === 'delete' && <DeleteDestination destination={destination} onClose={close} />}
    </>
  );
}

/** Says why nothing is published, what to do, and what becomes of the events. */
const HeldAlert = ({ destination, held: { detail, since } }: { readonly destination: Destination; readonly held: NonNullable<Destination['held']> }): ReactNode => (
  <Alert color="red" variant="light" icon={<IconAlertTriangle />} title="Nothing is published at present">
    <Text size="sm">{whyHeld(destination)} {remedyOf(destination)}</Text>
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>What was said: “{detail}”, since <Time at={since} />.</Text>
    <Text size="sm">The shop tries again every 30 seconds at the latest. It skips no event: once the cause is gone, all that wait are published.</Text>
  </Alert>
);

const DisabledAlert = ({ isBusy, onEnable }: { readonly isBusy: boolean; readonly onEnable: () => void }): ReactNode => (
  <Alert color="gray" variant="light" icon={<IconPlayerPause />} title="This destination is disabled">
    <Group justify="space-between" align="flex-end">
      <Text size="sm">Once it is enabled, it goes on from where it was. What the shop has deleted of its log until then is missing, and a marker in the stream says so.</Text>
      <Button size="xs" loading={isBusy} onClick={onEnable}>Enable the destination</Button>
    </Group>
  </Alert>
);

const ReplayAlert = ({ replay: { since, until }, isPublishing }: { readonly replay: NonNullable<Destination['replay']>; readonly isPublishing: boolean }): ReactNode => (
  <Alert color="blue" variant="light" icon={<IconRepeat />} title={isPublishing ? 'Past events are being published again' : 'Past events wait to be published again'}>
    <Text size="sm">Those from {formatExact(since)} until {formatExact(until)}, beside new ones.</Text>
  </Alert>
);

const Facts = ({ destination }: { readonly destination: Destination }): ReactNode => (
  <Paper withBorder p="md" mb="md">
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <Fact name="State"><StatusOf destination={destination} /></Fact>
      <Fact name="Events"><EventsOf filter={destination} /></Fact>
      <Fact name="Subjects"><Text size="sm" style={{ overflowWrap: 'anywhere' }}>{destination.subject}.&gt;</Text></Fact>
      <Fact name="Credentials"><Text size="sm">{destination.hasCredentials ? 'Stored, encrypted' : 'None'}</Text></Fact>
      <Fact name="Most events a second"><Text size="sm">{formatNumber(destination.perSecond)}</Text></Fact>
      <Fact name="Created"><Text size="sm"><Time at={destination.createdAt} /></Text></Fact>
    </SimpleGrid>
  </Paper>
);
