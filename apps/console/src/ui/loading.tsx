import { Center, Loader } from '@mantine/core';
import type { ReactNode } from 'react';

export const Loading = (): ReactNode => (
  <Center mih={160} role="status" aria-label="Loading">
    <Loader size="sm" />
  </Center>
);
