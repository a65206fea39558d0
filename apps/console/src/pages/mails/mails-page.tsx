import { Button, Center, Group, SegmentedControl, Select } from '@mantine/core';
import { IconMail } from '@tabler/icons-react';
import { ShopProblem } from '@plant-shop/client';
import { type InfiniteData, useInfiniteQuery, type UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useMay, useShop } from '../../auth/session.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { nextCursor } from '../../ui/next-cursor.js';
import { PageHeader } from '../../ui/page-header.js';
import { useFilters, useTypedFilter } from '../../ui/page-search.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { UserField } from '../../ui/user-field.js';
import { MailTable } from './mail-table.js';
import { type Mail, mailKinds, mailStates } from './mail-kinds.js';
import { mailsSearch } from './mails-search.js';

/** Delay after the last keystroke. */
const typingMs = 400;
const pageSize = 50;
/** Refetched regularly, since mails are sent meanwhile. */
const mailsMs = 5_000;
const kinds = (Object.keys(mailKinds) as Mail['kind'][]).map((value) => ({ value, label: mailKinds[value] }));

/** Mails to users: which were sent, and why others were not. */
export function MailsPage(): ReactNode {
  if (useMay('write:users')) return <Mails />;
  return (
    <>
      <PageHeader title="Mails" />
      <EmptyState icon={IconMail} title="Only administrators see mails" text="Your role does not allow managing users. Ask an administrator." />
    </>
  );
}

function Mails(): ReactNode {
  const [{ state: askedState, kind: askedKind, to }, apply] = useFilters(mailsSearch);
  const state = mailStates.find((one) => one === askedState);
  const kind = kinds.find(({ value }) => value === askedKind)?.value;
  const [typed, type] = useTypedFilter(to ?? '', (text) => apply({ to: text }), typingMs);
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useMails({ state, kind, to });
  const mails = data?.pages.flatMap((page) => page.entries) ?? [];
  const isFiltered = [state, kind, to].some((one) => one !== undefined);
  // Also while the name is being typed.
  const isNobody = to !== undefined && error instanceof ShopProblem && error.is('user-not-found');
  return (
    <>
      <PageHeader title="Mails" text="What the shop has sent to users, and what it could not send. Sent and failed mails stay for 30 days." />
      <Group align="flex-end" mb="sm">
        <UserField label="To" placeholder="Anyone" w={220} value={typed} onChange={type} />
        <Select label="About" placeholder="anything" w={220} data={kinds} value={kind ?? null} onChange={(value) => apply({ kind: value })} clearable clearButtonProps={{ 'aria-label': 'Anything' }} />
        <SegmentedControl aria-label="State of the mails" data={['all', ...mailStates]} value={state ?? 'all'} onChange={(value) => apply({ state: value })} />
      </Group>
      {isNobody ? <EmptyState icon={IconMail} title={`No user is called ${to}`} text="Write the whole username." /> : <ProblemAlert error={error} title="The mails could not be loaded" isShown={mails.length > 0} />}
      {isPending && <Loading />}
      {data !== undefined && mails.length === 0 && error === null && (
        <EmptyState icon={IconMail} title={isFiltered ? 'No mail matches' : 'No mails yet'} text={isFiltered ? 'Clear a filter to see more.' : 'Users get mails about their account and, if they want, about their orders.'} />
      )}
      {mails.length > 0 && !isNobody && <MailTable mails={mails} />}
      {hasNextPage && !isNobody && <Center mt="md"><Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show older</Button></Center>}
    </>
  );
}

interface MailFilter {
  readonly state: Mail['state'] | undefined;
  readonly kind: Mail['kind'] | undefined;
  readonly to: string | undefined;
}

function useMails({ state, kind, to }: MailFilter): UseInfiniteQueryResult<InfiniteData<{ readonly entries: readonly Mail[]; readonly next: string | undefined }>> {
  const shop = useShop();
  return useInfiniteQuery({
    queryKey: ['mails', { state, kind, to }],
    refetchInterval: mailsMs,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const query = { limit: pageSize, ...(state && { state }), ...(kind && { kind }), ...(to !== undefined && { username: to }), ...(cursor !== undefined && { cursor }) };
      const { data, response } = await shop.GET('/mails', { params: { query }, signal });
      return { entries: data, next: nextCursor(response) };
    },
    getNextPageParam: ({ next }) => next,
  });
}
