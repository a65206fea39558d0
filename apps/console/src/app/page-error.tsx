import { Button, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ProblemAlert } from '../ui/problem-alert.js';

export const NotFound = (): ReactNode => (
  <Stack align="flex-start">
    <Title order={1} size="h2">Page not found</Title>
    <Text>The address may be outdated or mistyped.</Text>
    <Button component={Link} to="/">Go to Today</Button>
  </Stack>
);

export const PageError = ({ error }: { readonly error: unknown }): ReactNode => (
  <Stack>
    <Title order={1} size="h2">This page failed</Title>
    <ProblemAlert error={error} />
    <Button w="fit-content" onClick={() => location.reload()}>Reload the page</Button>
  </Stack>
);
