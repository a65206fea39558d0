import { Anchor, Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconArrowLeft, IconMail, IconTrash } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../../auth/session.js';
import { AnchorLink, goBack } from '../../ui/anchor-link.js';
import { UnlessGone } from '../../ui/dialog.js';
import { Gone } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { AdministratorsOnly } from './administrators-only.js';
import { ApiKeys } from './api-keys.js';
import { DeleteUser } from './delete-user.js';
import { LogIn } from './log-in.js';
import { useUser } from './people-reads.js';
import { leftPeople } from './people-search.js';
import { RoleCard } from './role-card.js';
import { Sessions } from './sessions.js';

const route = getRouteApi('/people/$username');

export function PersonPage(): ReactNode {
  const { username } = route.useParams();
  return useMay('write:users') ? <Person username={username} /> : <AdministratorsOnly />;
}

/** Role, sessions, second factors, API keys. */
function Person({ username }: { readonly username: string }): ReactNode {
  const { data: seen, error, isPending } = useUser(username);
  const [isDeleting, { open, close }] = useDisclosure();
  const facts = seen ? [`${seen.user.firstName ?? ''} ${seen.user.lastName ?? ''}`.trim(), seen.user.email && `${seen.user.email}${seen.user.emailVerified === true ? '' : ' (not verified)'}`, seen.user.phone].filter(Boolean).join(' · ') : '';
  const back = <Anchor renderRoot={(props) => <Link to="/people" search={leftPeople.get()} {...props} onClick={goBack} />} size="sm" mb="xs" display="inline-block"><Group gap={4}><IconArrowLeft size={16} aria-hidden /> All people</Group></Anchor>;
  const didWhat = <AnchorLink to="/people" search={{ tab: 'audit', by: username }} size="sm">What they did</AnchorLink>;
  return (
    <UnlessGone error={error} gone={<>{back}<PageHeader title={username}>{didWhat}</PageHeader><Gone what="User" /></>}>
      {back}
      <PageHeader title={username} text={<Text span inherit>{facts}</Text>}>
        {seen && <AnchorLink to="/orders" search={{ owner: username }} size="sm">Orders</AnchorLink>}
        {seen && <AnchorLink to="/webhooks" search={{ owner: username }} size="sm">Webhooks</AnchorLink>}
        {didWhat}
        {seen && <Button renderRoot={(props) => <Link to="/mails" search={{ to: username }} {...props} />} variant="default" leftSection={<IconMail size={16} />}>Mails</Button>}
        {seen && <Button variant="default" leftSection={<IconTrash size={16} />} onClick={open}>Delete the user</Button>}
      </PageHeader>
      <ProblemAlert error={error} title="The user could not be loaded" isShown={seen !== undefined} />
      {isPending && <Loading />}
      {seen?.user.role && <RoleCard username={username} role={seen.user.role} etag={seen.etag} />}
      {seen && (
        <>
          <Sessions username={username} />
          <LogIn user={seen.user} />
          <ApiKeys username={username} />
        </>
      )}
      {isDeleting && <DeleteUser username={username} onClose={close} />}
    </UnlessGone>
  );
}
