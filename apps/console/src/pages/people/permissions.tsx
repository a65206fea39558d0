import { Badge, Checkbox, Group, SimpleGrid, Text } from '@mantine/core';
import { permissionMeanings } from '@plant-shop/client';
import type { ReactNode } from 'react';
import { permissionNames } from '../../auth/permissions.js';
import type { GrantedPermission } from './people-reads.js';

const allPermissions = Object.keys(permissionMeanings) as readonly GrantedPermission[];

export const PermissionBadges = ({ of }: { readonly of: readonly GrantedPermission[] }): ReactNode =>
  of.length === allPermissions.length ? <Text size="sm">all</Text> : <Group gap={4}>{of.map((one) => <Badge key={one} title={permissionMeanings[one]} variant="default" tt="none" fw={500} size="sm" miw="max-content">{permissionNames[one]}</Badge>)}</Group>;

export const PermissionChoice = ({ label, value, onChange, error }: {
  readonly label: string;
  readonly value: readonly GrantedPermission[];
  readonly onChange: (value: GrantedPermission[]) => void;
  readonly error?: string | undefined;
}): ReactNode => (
  <Checkbox.Group label={label} value={[...value]} onChange={(chosen) => onChange(allPermissions.filter((one) => chosen.includes(one)))} error={error}>
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing={6} my={4}>{allPermissions.map((one) => <Checkbox key={one} value={one} label={permissionMeanings[one]} />)}</SimpleGrid>
  </Checkbox.Group>
);
