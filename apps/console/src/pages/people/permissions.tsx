import { Badge, Checkbox, Group, SimpleGrid, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { GrantedPermission } from './people-reads.js';

/** All permissions, by their names in the API. */
const allPermissions: readonly GrantedPermission[] = ['read:plants', 'write:plants', 'write:stock', 'read:orders', 'write:orders', 'manage:orders', 'write:payments', 'write:shipments', 'write:users', 'webhooks'];

export const PermissionBadges = ({ of }: { readonly of: readonly GrantedPermission[] }): ReactNode =>
  of.length === allPermissions.length ? <Text size="sm">all</Text> : <Group gap={4}>{of.map((one) => <Badge key={one} variant="default" tt="none" fw={500} size="sm">{one}</Badge>)}</Group>;

export const PermissionChoice = ({ label, value, onChange, error }: {
  readonly label: string;
  readonly value: readonly GrantedPermission[];
  readonly onChange: (value: GrantedPermission[]) => void;
  readonly error?: string | undefined;
}): ReactNode => (
  <Checkbox.Group label={label} value={[...value]} onChange={(chosen) => onChange(allPermissions.filter((one) => chosen.includes(one)))} error={error}>
    <SimpleGrid cols={2} spacing={6} my={4}>{allPermissions.map((one) => <Checkbox key={one} value={one} label={one} />)}</SimpleGrid>
  </Checkbox.Group>
);
