import { Anchor, Tabs } from '@mantine/core';
import { IconApps, IconHistory, IconUsers } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, use } from 'react';
import { useMay, usePerson } from '../../auth/session.js';
import { PageHeader } from '../../ui/page-header.js';
import { PageSearch } from '../../ui/page-search.js';
import { AdministratorsOnly } from './administrators-only.js';
import { AuditLog } from './audit-log.js';
import { OAuthClients } from './oauth-clients.js';
import { peopleSearch, tabs } from './people-search.js';
import { Users } from './users.js';

const route = getRouteApi('/people');
const labels = { users: 'Users', clients: 'OAuth clients', audit: 'Audit log' } as const;

export function PeoplePage(): ReactNode {
  const mayManage = useMay('write:users');
  const { username } = usePerson();
  const { tab = 'users' } = peopleSearch(use(PageSearch));
  if (!mayManage) return <AdministratorsOnly />;
  return (
    <>
      <PageHeader title="People" tab={labels[tab]} text="Users and their permissions, and the audit log."><Anchor component={Link} to={`/people/${encodeURIComponent(username)}`} size="sm">Your own sessions and keys</Anchor></PageHeader>
      <Everybody />
    </>
  );
}

function Everybody(): ReactNode {
  const { tab = 'users' } = peopleSearch(use(PageSearch));
  const navigate = route.useNavigate();
  const open = (value: string | null): void => {
    const wanted = tabs.find((one) => one === value);
    void navigate({ search: wanted === undefined || wanted === 'users' ? {} : { tab: wanted } });
  };
  return (
    <Tabs value={tab} onChange={open} keepMounted={false}>
      <Tabs.List mb="md" aria-label="People">
        <Tabs.Tab value="users" leftSection={<IconUsers size={16} />}>{labels.users}</Tabs.Tab>
        <Tabs.Tab value="clients" leftSection={<IconApps size={16} />}>{labels.clients}</Tabs.Tab>
        <Tabs.Tab value="audit" leftSection={<IconHistory size={16} />}>{labels.audit}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="users"><Users /></Tabs.Panel>
      <Tabs.Panel value="clients"><OAuthClients /></Tabs.Panel>
      <Tabs.Panel value="audit"><AuditLog /></Tabs.Panel>
    </Tabs>
  );
}
