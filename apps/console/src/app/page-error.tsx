import { Button, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { PageHeader } from '../ui/page-header.js';
import { ProblemAlert } from '../ui/problem-alert.js';

export const NotFound = (): ReactNode => (
  <Stack align="flex-start">
    <PageHeader title="Page not found" />
    <Text>The address may be outdated or mistyped.</Text>
    <Button component={Link} to="/">Go to Today</Button>
  </Stack>
);

export const PageError = ({ error }: { readonly error: unknown }): ReactNode => (
  <Stack>
    <PageHeader title="This page failed" />
    <ProblemAlert error={error} />
    <Button w="fit-content" onClick={() => location.reload()}>Reload the page</Button>
  </Stack>
);
