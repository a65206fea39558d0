import { AppShell, Badge, Burger, Button, Group, Image, NavLink, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconLogout, IconUserCircle } from '@tabler/icons-react';
import { Link, useLocation } from '@tanstack/react-router';
import { memo, type ReactNode, Suspense, useEffect } from 'react';
import { useCell, useMay, usePerson, useSession } from '../auth/session.js';
import { lazyFile } from '../shop/lazy-file.js';
import { forgetDrafts } from '../ui/drafts.js';
import { Banners } from './banners.js';
import { ColorScheme } from './color-scheme.js';
import { keepFocus } from './kept-focus.js';
import { ignoreSecondPress } from './second-press.js';
import { KeptPages } from './kept-pages.js';
import { type PageEntry, pages } from './pages.js';
import { FindButton } from './palette/find-button.js';

/** After the page, which comes first. */
const OrderNotices = lazyFile(() => import('./order-notices.js'), 'OrderNotices');

/** Header and navigation around every page. */
export function Shell(): ReactNode {
  const [isOpen, { toggle, close }] = useDisclosure();
  const session = useSession();
  const { username } = usePerson();
  const seesOrders = useMay('read:orders');
  const isSandbox = useCell(session.connection.isSandbox);
  useEffect(keepFocus, []);
  useEffect(ignoreSecondPress, []);
  return (
    <AppShell header={{ height: 56 }} navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }} padding="md">
      <a className="skip-link" href="#content">Skip to content</a>
      <AppShell.Header>
        <Group h="100%" px={{ base: 'xs', xs: 'md' }} justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" aria-expanded={isOpen} />
            <Image src={`${import.meta.env.BASE_URL}leaf.svg`} alt="" w={28} h={28} visibleFrom="xs" />
            <Title order={2} size="h4" visibleFrom="xs">Plant shop</Title>
            {isSandbox && <Badge color="orange" variant="light" tt="none" style={{ flexShrink: 0 }} title="This shop is for tests: nothing in it is real.">Sandbox</Badge>}
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" c="dimmed" truncate maw={200} visibleFrom="xs">{username}</Text>
            <FindButton />
            {seesOrders && <Suspense><OrderNotices /></Suspense>}
            <ColorScheme />
            <Button variant="default" size="xs" leftSection={<IconLogout size={16} />} onClick={() => {
              forgetDrafts();
              void session.logOut();
            }}>Log out</Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Pages"><Navigation onChange={close} /></AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Banners />
        <KeptPages />
        <div id="over-page" />
      </AppShell.Main>
    </AppShell>
  );
}

/** Apart from the shell, which is not drawn again with each page. */
function Navigation({ onChange }: { readonly onChange: () => void }): ReactNode {
  const { permissions } = usePerson();
  const pathname = useLocation({ select: (location) => location.pathname });
  const offered = pages.filter(({ needs }) => needs.length === 0 || needs.some((one) => permissions.has(one)));
  const current = offered.find(({ path }) => isAt(path, pathname));
  useEffect(onChange, [current, onChange]);
  return (
    <>
      {offered.map((page) => <Entry key={page.path} page={page} isCurrent={page === current} />)}
      {/* Of identity: not a page of the console. */}
      <NavLink href="/account" label="Your account" leftSection={<IconUserCircle size={18} stroke={1.75} aria-hidden />} mt="auto" style={{ borderRadius: 'var(--mantine-radius-md)' }} />
    </>
  );
}

const Entry = memo(({ page: { path, label, icon: Icon }, isCurrent }: { readonly page: PageEntry; readonly isCurrent: boolean }): ReactNode => (
  <NavLink component={Link} to={path} label={label} leftSection={<Icon size={18} stroke={1.75} aria-hidden />} active={isCurrent} aria-current={isCurrent ? 'page' : undefined} mb={2} style={{ borderRadius: 'var(--mantine-radius-md)' }} />
));

const isAt = (path: string, pathname: string): boolean => pathname === path || (path !== '/' && pathname.startsWith(`${path}/`));
