import { Button, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useCell } from '../auth/session.js';
import { isIncomplete } from '../shop/lazy-file.js';
import { Loading } from '../ui/loading.js';
import { PageHeader } from '../ui/page-header.js';
import { ProblemAlert } from '../ui/problem-alert.js';

export const NotFound = (): ReactNode => (
  <Stack align="flex-start">
    <PageHeader title="Page not found" />
    <Text>The address may be outdated or mistyped.</Text>
    <Button component={Link} to="/">Go to Today</Button>
  </Stack>
);

/** While the page's file is loaded; for good if that did not succeed. */
export const PagePending = (): ReactNode => (useCell(isIncomplete) ? <PageHeader title="This page is missing" /> : <Loading />);

export const PageError = ({ error }: { readonly error: unknown }): ReactNode => (
  <Stack>
    <PageHeader title="This page failed" />
    <ProblemAlert error={error} />
    <Button w="fit-content" onClick={() => location.reload()}>Reload the page</Button>
  </Stack>
);
