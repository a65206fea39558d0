import { Group, MultiSelect, Paper, Select, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useFilters } from '../../ui/page-search.js';
import { PlantField } from '../../ui/plant-field.js';
import { useAppliedSoon } from '../../ui/use-applied-soon.js';
import { wholeNumber } from '../../ui/whole-number.js';
import { WholeNumberInput } from '../../ui/whole-number-input.js';
import { eventTypes, orderStatuses, streamSearch } from './stream-search.js';

/** Delay after the last keystroke, since each filter opens a new connection. */
const typingMs = 400;

const places = [
  { value: 'latest', label: 'Now' },
  { value: 'earliest', label: 'The oldest event kept' },
  { value: 'cursor', label: 'After a cursor' },
];

export function StreamFilters(): ReactNode {
  const [{ types, plant, order, status, from }, apply] = useFilters(streamSearch);
  const [cursor, setCursor] = useState('');
  const typedCursor = useRef(cursor);
  typedCursor.current = cursor;
  const [typedOrder, setTypedOrder] = useState(String(order ?? ''));
  // Chosen, but without a cursor yet.
  const [isCursorAsked, setCursorAsked] = useState(false);
  const place = isCursorAsked ? 'cursor' : placeOf(from);
  // The URL may change elsewhere, by "Start after this one".
  useEffect(() => {
    if (placeOf(from) === 'cursor') setCursor(from ?? '');
    // "Back" took it away. Who empties the field is about to write another.
    else if (typedCursor.current !== '') {
      setCursor('');
      setCursorAsked(false);
    }
  }, [from]);
  useEffect(() => setTypedOrder((typed) => (wholeNumber(typed, { min: 1 }) === order ? typed : String(order ?? ''))), [order]);
  const applySoon = useAppliedSoon(apply, typingMs);
  return (
    <Paper withBorder p="sm" mb="sm">
      <Group align="flex-start" gap="sm">
        <MultiSelect label="Types" placeholder={types ? '' : 'all'} data={[...eventTypes]} value={[...(types ?? [])]} onChange={(value) => apply({ types: value })} clearable w={280} clearButtonProps={{ 'aria-label': 'All types' }} />
        <PlantField label="Plant" placeholder="all" w={180} value={plant} onChange={(value) => applySoon({ plant: value })} />
        <WholeNumberInput label="Order" placeholder="all" min={1} w={150} value={typedOrder} onChange={(text) => {
          setTypedOrder(text);
          applySoon({ order: wholeNumber(text, { min: 1 }) });
        }} />
        <Select label="Changes to" placeholder="any status" data={[...orderStatuses]} value={status ?? null} onChange={(value) => apply({ status: value })} clearable w={150} clearButtonProps={{ 'aria-label': 'Any status' }} />
        <Select
          label="From"
          data={places}
          value={place}
          allowDeselect={false}
          w={200}
          onChange={(value) => {
            setCursorAsked(value === 'cursor');
            if (value !== 'cursor') apply({ from: value === 'latest' ? undefined : value });
          }}
        />
        {place === 'cursor' && <TextInput label="Cursor" description="Each frame has one." inputWrapperOrder={['label', 'input', 'description']} value={cursor} onChange={(change) => {
          setCursor(change.currentTarget.value);
          applySoon({ from: change.currentTarget.value.trim() });
        }} w={260} />}
      </Group>
    </Paper>
  );
}

/** Any other value is a cursor. */
const placeOf = (from = 'latest'): string => (places.some(({ value }) => value === from) ? from : 'cursor');
