import { Alert, Anchor, Button, Group, Menu, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconArrowLeft, IconDots, IconKey, IconPencil, IconPlayerPause, IconPlayerPlay, IconRepeat, IconSend, IconTrash, IconUser } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useMay, useShop } from '../../auth/session.js';
import { AnchorLink, goBack } from '../../ui/anchor-link.js';
import { Fact } from '../../ui/card.js';
import { UnlessGone } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { Gone } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { DeleteWebhook } from './delete-webhook.js';
import { Deliveries } from './deliveries.js';
import { DisabledAlert } from './disabled-alert.js';
import { EditWebhook } from './edit-webhook.js';
import { EventsOf } from './event-filter.js';
import { HealthBadge } from './health-badge.js';
import { ReplayDialog } from './replay-dialog.js';
import { RotateSecret } from './rotate-secret.js';
import { useForgotten, useSetState } from './use-set-state.js';
import { isOwn, useWebhook, type Webhook } from './webhook-reads.js';
import { leftWebhooks } from './webhooks-search.js';

const route = getRouteApi('/webhooks/$webhookId');

export function WebhookPage(): ReactNode {
  const { webhookId } = route.useParams();
  const { data, error, isPending } = useWebhook(webhookId);
  const back = <Anchor renderRoot={(props) => <Link to="/webhooks" search={leftWebhooks.get()} {...props} onClick={goBack} />} size="sm" mb="xs" display="inline-block"><Group gap={4}><IconArrowLeft size={16} aria-hidden /> Back to the webhooks</Group></Anchor>;
  return (
    <UnlessGone error={error} gone={<>{back}<PageHeader title={data ? titleOf(data.webhook) : 'Webhook'} /><Gone what="Webhook" /></>}>
      {back}
      {data === undefined ? <PageHeader title="Webhook" /> : isOwn(data.webhook) ? <Header webhook={data.webhook} etag={data.etag} /> : <OthersHeader webhook={data.webhook} />}
      {isPending && <Loading />}
      <ProblemAlert error={error} title="The webhook could not be loaded" isShown={data !== undefined} />
      {data !== undefined && <Facts webhook={data.webhook} />}
      {data !== undefined && <Deliveries webhook={data.webhook} />}
    </UnlessGone>
  );
}

/** What tells the webhook from others, in the tab's title. */
const hostOf = (url: string): string => URL.parse(url)?.host ?? '';

const titleOf = ({ name, url }: Webhook): string => name ?? `Webhook ${hostOf(url)}`;

function OthersHeader({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { owner = '' } = webhook;
  const seesPeople = useMay('write:users');
  return (
    <>
      <PageHeader title={titleOf(webhook)} text={webhook.url} />
      <Stack mb="md" gap="sm">
        <Alert color="gray" variant="light" icon={<IconUser />} title={<>It belongs to {seesPeople ? <AnchorLink to="/people/$username" params={{ username: owner }} inherit>{owner}</AnchorLink> : owner}</>}>
          Only they can change it, test it or send events again. Tell them what the attempts below say.
        </Alert>
        {webhook.state === 'disabled' && <DisabledAlert webhook={webhook} />}
      </Stack>
    </>
  );
}

type DialogName = 'edit' | 'rotate' | 'replay' | 'delete';

function Header({ webhook, etag }: { readonly webhook: Webhook; readonly etag: string | undefined }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const [dialog, setDialog] = useState<DialogName>();
  const close = (): void => setDialog(undefined);
  const setState = useSetState(webhook, etag);
  const test = useChange({
    isRepeatable: true,
    mutationFn: async (_, again) => (await shop.POST('/webhooks/{webhookId}/test', { params: { path: { webhookId: webhook.id } }, ...again })).data,
    onSuccess: async ({ state }) => {
      sayDone(state === 'held' ? 'The test event is held until the webhook is enabled.' : 'A test event is on its way.');
      await client.invalidateQueries({ queryKey: ['webhook', webhook.id] });
    },
  });
  useForgotten(test, webhook);
  const isEnabled = webhook.state === 'enabled';
  return (
    <>
      <PageHeader title={titleOf(webhook)} text={webhook.url}>
        <Button variant="default" leftSection={<IconSend size={16} />} loading={test.isPending} onClick={() => test.mutate()}>Send a test</Button>
        <Button variant="default" leftSection={<IconRepeat size={16} />} onClick={() => setDialog('replay')}>Replay</Button>
        <Button variant="default" leftSection={<IconPencil size={16} />} onClick={() => setDialog('edit')}>Edit</Button>
        <Menu position="bottom-end">
          <Menu.Target><Button variant="default" px="xs" aria-label="More actions"><IconDots size={18} /></Button></Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconKey size={16} />} onClick={() => setDialog('rotate')}>Replace the secret</Menu.Item>
            <Menu.Item leftSection={isEnabled ? <IconPlayerPause size={16} /> : <IconPlayerPlay size={16} />} onClick={() => setState.mutate(isEnabled ? 'disabled' : 'enabled')}>{isEnabled ? 'Disable' : 'Enable'}</Menu.Item>
            <Menu.Divider />
            <Menu.Item c="var(--mantine-color-error)" leftSection={<IconTrash size={16} />} onClick={() => setDialog('delete')}>Delete</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </PageHeader>
      <Stack mb="md" gap="sm">
        {!isEnabled && <DisabledAlert webhook={webhook}><Button size="xs" loading={setState.isPending} onClick={() => setState.mutate('enabled')}>Enable the webhook</Button></DisabledAlert>}
        <ProblemAlert error={test.error} title="No test event was sent" />
        <ProblemAlert error={setState.error} title="The webhook was not changed" />
      </Stack>
      {dialog === 'edit' && <EditWebhook webhook={webhook} etag={etag} onClose={close} />}
      {dialog === 'rotate' && <RotateSecret webhook={webhook} onClose={close} />}
      {dialog === 'replay' && <ReplayDialog webhook={webhook} onClose={close} />}
      {dialog === 'delete' && <DeleteWebhook webhook={webhook} onClose={close} />}
    </>
  );
}

const Facts = ({ webhook }: { readonly webhook: Webhook }): ReactNode => (
  <Paper withBorder p="md" mb="md">
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <Fact name="Health"><HealthBadge webhook={webhook} /></Fact>
      <Fact name="Events"><EventsOf filter={webhook} /></Fact>
      <Fact name="Created"><Text size="sm"><Time at={webhook.createdAt} /></Text></Fact>
    </SimpleGrid>
    {webhook.description !== undefined && <Text size="sm" mt="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{webhook.description}</Text>}
  </Paper>
);
