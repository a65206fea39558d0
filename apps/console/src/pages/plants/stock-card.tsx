import { Alert, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconPlusMinus } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { Card } from '../../ui/card.js';
import { ChangedMeanwhile } from '../../ui/changed-meanwhile.js';
import { sayDone } from '../../ui/done.js';
import { Loading } from '../../ui/loading.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { RestoredDraft } from '../../ui/use-draft.js';
import { wholeNumber } from '../../ui/whole-number.js';
import { WholeNumberInput } from '../../ui/whole-number-input.js';
import { AdjustStock } from './adjust-stock.js';
import type { PlantFilter } from './plant-filter.js';
import { mostUnits } from './plant-form-values.js';
import { type Stock, stockMs, stockQuery, useLevel, useLiveStock, type Versioned, versionOf } from './plants-queries.js';
import { StockLevel } from './stock-cell.js';
import { StockHistory } from './stock-history.js';
import { useVersionedForm } from './use-versioned-form.js';

/** A plant's stock: its units, what changes them, and who did. */
export function StockCard({ plantId, name }: { readonly plantId: number; readonly name: string }): ReactNode {
  const stock = useQuery({ ...stockQuery(useShop(), plantId), refetchInterval: stockMs });
  const [isOpen, setOpen] = useState(false);
  useLiveStock();
  return (
    <Card title="Stock" aside={<Button variant="default" size="xs" leftSection={<IconPlusMinus size={16} />} onClick={() => setOpen(true)}>Change the stock</Button>}>
      {stock.isPending && <Loading />}
      <ProblemAlert error={stock.error} title="The stock could not be loaded" isShown={stock.data !== undefined} />
      {stock.data && (
        <Stack>
          <Units stock={stock.data} />
          <LowMark stock={stock.data} />
          <StockHistory plantId={plantId} />
        </Stack>
      )}
      {isOpen && <AdjustStock plantId={plantId} name={name} onClose={() => setOpen(false)} />}
    </Card>
  );
}

function Units({ stock }: { readonly stock: Versioned<Stock> }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const { plantId, free, reserved, sold, writtenOff } = stock.value;
  const level = useLevel(stock.value);
  const query = stockQuery(shop, plantId);
  const editing = useVersionedForm<Stock, string>({
    name: `stock of plant ${plantId}`,
    latest: stock,
    formOf: (value) => String(value.free),
    isSame: (one, other) => one.trim() === other.trim(),
    read: () => client.query({ ...query, staleTime: 0 }),
    write: async (units, { etag }) =>
      versionOf(await shop.PUT('/store/inventory/{plantId}', { params: { path: { plantId }, header: { 'If-Match': etag } }, body: { free: Number(units) } })),
    onSaved: (saved) => {
      client.setQueryData(query.queryKey, saved);
      void client.invalidateQueries({ queryKey: ['plant', plantId, 'changes'] });
      void client.invalidateQueries({ queryKey: ['inventory'] });
      sayDone(`${counted(saved.value.free, 'unit')} can be ordered.`);
    },
  });
  const { theirs, form } = editing;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 3 }} component="dl" m={0}>
        <Figure label="Free" text="can be ordered" value={free} level={level} />
        <Figure label="Reserved" text="in placed orders" value={reserved} />
        <Figure label="Sold" text="in paid orders" value={sold} />
        {writtenOff !== undefined && <Figure label="Written off" text="of cancelled orders" value={writtenOff} />}
      </SimpleGrid>
      {level === 'uncounted' && <Alert color="orange" variant="light">Nobody has counted the units of this plant. Set them below, also if there are none.</Alert>}
      <RestoredDraft draft={editing.draft} />
      <form onSubmit={(event) => {
        event.preventDefault();
        editing.save();
      }}>
        <Group align="flex-end">
          <WholeNumberInput label="Free units" required max={mostUnits} value={form} onChange={editing.setForm} error={faultOf(editing.error, 'free')} style={{ flex: 1 }} />
          {!theirs && <Button type="submit" disabled={(!editing.isDirty && level !== 'uncounted') || form.trim() === ''} loading={editing.isSaving}>Set the stock</Button>}
        </Group>
        <ProblemAlert error={editing.error} title="The stock was not set" />
        {theirs && (
          <ChangedMeanwhile
            title="The stock has changed"
            differences={[{ label: 'Free units', theirs: formatNumber(theirs.value.free), mine: asTyped(form) }]}
            takeTheirs={`Leave it at ${formatNumber(theirs.value.free)}`}
            keepMine={`Set it to ${asTyped(form)}`}
            isBusy={editing.isSaving}
            onTakeTheirs={editing.takeTheirs}
          />
        )}
      </form>
    </Stack>
  );
}

/** A number as it is shown, or what else was typed. */
function asTyped(text: string): string {
  const number = wholeNumber(text);
  return number === undefined ? text.trim() || '…' : formatNumber(number);
}

/** From how few units on the plant counts as low on stock. */
function LowMark({ stock }: { readonly stock: Versioned<Stock> }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const { plantId } = stock.value;
  const query = stockQuery(shop, plantId);
  const editing = useVersionedForm<Stock, string>({
    name: `low mark of plant ${plantId}`,
    latest: stock,
    formOf: ({ lowStockAt }) => String(lowStockAt ?? ''),
    isSame: (one, other) => one.trim() === other.trim(),
    read: () => client.query({ ...query, staleTime: 0 }),
    write: async (mark, { etag }) =>
      versionOf(await shop.PUT('/store/inventory/{plantId}', { params: { path: { plantId }, header: { 'If-Match': etag } }, body: { lowStockAt: mark.trim() === '' ? null : Number(mark) } })),
    onSaved: (saved) => {
      client.setQueryData(query.queryKey, saved);
      sayDone(saved.value.lowStockAt === undefined ? 'The plant is low on stock like others, from 10 free units.' : `The plant is low on stock from ${counted(saved.value.lowStockAt, 'free unit')}.`);
    },
  });
  const { theirs, form } = editing;
  const textOf = (mark: string): string => (mark.trim() === '' ? '10, as others' : asTyped(mark));
  return (
    <form onSubmit={(event) => {
      event.preventDefault();
      editing.save();
    }}>
      <Stack gap="xs">
        <RestoredDraft draft={editing.draft} />
        <Group align="flex-end">
          <WholeNumberInput label="Low from" description="So many free units or fewer are low. Empty: 10." max={mostUnits} value={form} onChange={editing.setForm} error={faultOf(editing.error, 'lowStockAt')} style={{ flex: 1 }} />
          {!theirs && <Button type="submit" variant="default" disabled={!editing.isDirty} loading={editing.isSaving}>Save the mark</Button>}
        </Group>
        <ProblemAlert error={editing.error} title="The mark was not saved" />
        {theirs && (
          <ChangedMeanwhile
            title="The mark has changed"
            differences={[{ label: 'Low from', theirs: textOf(String(theirs.value.lowStockAt ?? '')), mine: textOf(form) }]}
            takeTheirs={`Leave it at ${textOf(String(theirs.value.lowStockAt ?? ''))}`}
            keepMine={`Set it to ${textOf(form)}`}
            isBusy={editing.isSaving}
            onTakeTheirs={editing.takeTheirs}
          />
        )}
      </Stack>
    </form>
  );
}

const Figure = ({ label, text, value, level }: { readonly label: string; readonly text: string; readonly value: number; readonly level?: PlantFilter['stock'] }): ReactNode => (
  <div>
    <Text component="dt" size="sm" c="dimmed">{label}</Text>
    <Text component="dd" m={0} size="xl" fw={600} className="numbers">{formatNumber(value)}</Text>
    <Text component="dd" m={0} size="xs" c="dimmed">{text} <StockLevel level={level} /></Text>
  </div>
);
