import { Badge, Checkbox, Group, MultiSelect, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useMay } from '../../auth/session.js';
import { PlantField } from '../../ui/plant-field.js';
import { faultOf } from '../../ui/problem.js';
import type { Draft } from '../../ui/use-draft.js';
import { orderStatuses } from '../orders/order-filter.js';
import { eventLabel, eventLabels, eventTypes as allTypes } from './event-labels.js';
import type { Webhook } from './webhook-reads.js';

/** Which events are sent. */
export type EventFilter = Pick<Webhook, 'eventTypes' | 'plantId' | 'newStatuses'>;

/** The filter as typed. */
export interface EventFilterValues {
  readonly eventTypes: string[];
  readonly plantId?: number | undefined;
  /** Words of the plant's name that have not found it yet. */
  readonly plantText?: string | undefined;
  readonly newStatuses: string[];
}

export const filterValuesOf = ({ eventTypes, plantId, newStatuses = [] }: EventFilter): EventFilterValues => ({ eventTypes, plantId, newStatuses });

export const filterOf = ({ eventTypes, plantId, newStatuses }: EventFilterValues): EventFilter => ({
  eventTypes: allTypes.filter((type) => eventTypes.includes(type)),
  ...(plantId !== undefined && { plantId }),
  ...(newStatuses.length > 0 && { newStatuses: orderStatuses.filter((one) => newStatuses.includes(one)) }),
});

/** The fields of the filter. @param children a field beside the plant's */
export function EventFilterFields({ draft, error, children }: { readonly draft: Pick<Draft<EventFilterValues>, 'value' | 'change'>; readonly error: unknown; readonly children?: ReactNode }): ReactNode {
  const { eventTypes, plantId, plantText, newStatuses } = draft.value;
  const seesStock = useMay('write:stock');
  return (
    <>
      <Checkbox.Group label="Events" value={eventTypes} onChange={(value) => draft.change({ eventTypes: value })} error={eventTypes.length === 0 ? 'Choose at least one.' : faultOf(error, 'eventTypes')}>
        <Stack gap={6} mt={4}>
          {allTypes.filter((type) => seesStock || !type.startsWith('stock.') || eventTypes.includes(type)).map((type) => <Checkbox key={type} value={type} label={<>{eventLabels[type]} <Text span c="dimmed" size="sm">{type}</Text></>} />)}
        </Stack>
      </Checkbox.Group>
      <Group grow align="flex-start">
        <PlantField label="Only plant" placeholder="all" value={plantId} text={plantText} onChange={(value) => draft.change({ plantId: value })} onText={(text) => draft.change({ plantText: text })} error={faultOf(error, 'plantId')} />
        {children}
      </Group>
      <MultiSelect label="Only changes to" placeholder={newStatuses.length === 0 ? 'all' : ''} data={orderStatuses} value={newStatuses} onChange={(value) => draft.change({ newStatuses: value })} error={faultOf(error, 'newStatuses')} />
    </>
  );
}

/** The events that match a filter. */
export const EventsOf = ({ filter: { eventTypes, orderId, plantId, newStatuses } }: { readonly filter: EventFilter & Pick<Webhook, 'orderId'> }): ReactNode => (
  <Group gap={4}>
    {eventTypes.map((type) => <Badge key={type} title={type} variant="default" tt="none" fw={500} miw="max-content">{eventLabel(type)}</Badge>)}
    {orderId !== undefined && <Text size="sm">of order {orderId}</Text>}
    {plantId !== undefined && <Text size="sm">of plant {plantId}</Text>}
    {newStatuses !== undefined && <Text size="sm">to {newStatuses.join(', ')}</Text>}
  </Group>
);
